/**
 * A call button for any page. Where the page has `<script src="https://voice.example/widget.js" data-secret="/call-secret"></script>`,
 * the button stands in a corner, in a shadow tree of its own; the page's styles reach it by custom properties. The client library
 * is loaded with the first call. docs/widget.md has the attributes.
 */
(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const { agent: where, secret: secretUrl, label, lang, theme, position = 'end' } = script.dataset;
  const CAPTION_CHARACTERS = 200;
  const server = new URL(where || '/', script.src).href.replace(/\/$/, '');

  /** @type {Record<string, Record<string, string>>} The words of each language that agents speak. */
  const WORDS = {
    en: {
      region: 'Voice call', call: 'Call', hangUp: 'Hang up', cancel: 'Cancel', mute: 'Mute',
      asking: 'Please allow the microphone.', connecting: 'Calling …', live: 'Connected. You can speak now.', unstable: 'The connection is weak …',
      resuming: 'The connection was lost. It is being restored; you are not heard right now.', ended: 'The call has ended.',
      microphone: 'The microphone is not allowed. Allow it beside this page’s address, then call again.',
      noMicrophone: 'No microphone could be opened. Connect one, or close other programs that use it, then call again.',
      unsupported: 'This browser cannot make calls here. Use a current browser and an https address.',
      busy: 'All lines are busy. Please call again in a moment.', unreachable: 'The call service does not answer. Please call again later.',
      secret: 'This page has no permission to call at the moment. Reload it and call again.',
      origin: 'This page may not call. Its owner can allow that in the call service.',
      network: 'No connection came about. A firewall may be in the way: try another network.',
      lost: 'The connection was lost, and the call has ended. Please call again.', other: 'The call did not work. Please call again.',
    },
    de: {
      region: 'Sprachanruf', call: 'Anrufen', hangUp: 'Auflegen', cancel: 'Abbrechen', mute: 'Stumm schalten',
      asking: 'Bitte erlauben Sie das Mikrofon.', connecting: 'Verbindung wird aufgebaut …', live: 'Verbunden. Sie können jetzt sprechen.', unstable: 'Die Verbindung ist schwach …',
      resuming: 'Die Verbindung ist abgerissen und wird wiederhergestellt. Man hört Sie gerade nicht.', ended: 'Der Anruf ist beendet.',
      microphone: 'Das Mikrofon ist nicht erlaubt. Erlauben Sie es neben der Adresse dieser Seite und rufen Sie noch einmal an.',
      noMicrophone: 'Kein Mikrofon ließ sich öffnen. Schließen Sie eines an oder beenden Sie andere Programme, die es benutzen.',
      unsupported: 'Dieser Browser kann hier nicht anrufen. Nehmen Sie einen aktuellen Browser und eine https-Adresse.',
      busy: 'Alle Leitungen sind belegt. Bitte rufen Sie gleich noch einmal an.', unreachable: 'Der Anrufdienst antwortet nicht. Bitte versuchen Sie es später.',
      secret: 'Diese Seite darf gerade nicht anrufen. Laden Sie sie neu und rufen Sie noch einmal an.',
      origin: 'Diese Seite darf nicht anrufen. Ihr Betreiber kann das im Anrufdienst erlauben.',
      network: 'Es kam keine Verbindung zustande. Vielleicht stört eine Firewall: Versuchen Sie ein anderes Netz.',
      lost: 'Die Verbindung ist abgerissen, der Anruf ist beendet. Bitte rufen Sie noch einmal an.', other: 'Der Anruf hat nicht geklappt. Bitte rufen Sie noch einmal an.',
    },
    es: {
      region: 'Llamada de voz', call: 'Llamar', hangUp: 'Colgar', cancel: 'Cancelar', mute: 'Silenciar',
      asking: 'Permita el uso del micrófono.', connecting: 'Llamando …', live: 'Conectado. Ya puede hablar.', unstable: 'La conexión es débil …',
      resuming: 'Se perdió la conexión. Se está recuperando; ahora no se le oye.', ended: 'La llamada ha terminado.',
      microphone: 'El micrófono no está permitido. Permítalo junto a la dirección de esta página y vuelva a llamar.',
      noMicrophone: 'No se pudo abrir ningún micrófono. Conecte uno o cierre otros programas que lo usen.',
      unsupported: 'Este navegador no puede llamar aquí. Use un navegador actual y una dirección https.',
      busy: 'Todas las líneas están ocupadas. Vuelva a llamar en un momento.', unreachable: 'El servicio de llamadas no responde. Inténtelo más tarde.',
      secret: 'Esta página no tiene permiso para llamar en este momento. Recárguela y vuelva a llamar.',
      origin: 'Esta página no puede llamar. Su responsable puede permitirlo en el servicio de llamadas.',
      network: 'No se pudo conectar. Puede que lo impida un cortafuegos: pruebe otra red.',
      lost: 'Se perdió la conexión y la llamada ha terminado. Vuelva a llamar.', other: 'La llamada no funcionó. Vuelva a llamar.',
    },
    fr: {
      region: 'Appel vocal', call: 'Appeler', hangUp: 'Raccrocher', cancel: 'Annuler', mute: 'Couper le micro',
      asking: 'Veuillez autoriser le microphone.', connecting: 'Appel en cours …', live: 'Connecté. Vous pouvez parler.', unstable: 'La connexion est faible …',
      resuming: 'La connexion est coupée. Elle est en train d’être rétablie ; on ne vous entend pas.', ended: 'L’appel est terminé.',
      microphone: 'Le microphone n’est pas autorisé. Autorisez-le à côté de l’adresse de cette page, puis rappelez.',
      noMicrophone: 'Aucun microphone n’a pu être ouvert. Branchez-en un, ou fermez les programmes qui l’utilisent.',
      unsupported: 'Ce navigateur ne peut pas appeler ici. Utilisez un navigateur récent et une adresse https.',
      busy: 'Toutes les lignes sont occupées. Rappelez dans un instant.', unreachable: 'Le service d’appel ne répond pas. Réessayez plus tard.',
      secret: 'Cette page n’a pas le droit d’appeler pour le moment. Rechargez-la et rappelez.',
      origin: 'Cette page n’a pas le droit d’appeler. Son responsable peut l’autoriser dans le service d’appel.',
      network: 'La connexion n’a pas pu se faire. Un pare-feu gêne peut-être : essayez un autre réseau.',
      lost: 'La connexion est perdue et l’appel est terminé. Veuillez rappeler.', other: 'L’appel n’a pas fonctionné. Veuillez rappeler.',
    },
    it: {
      region: 'Chiamata vocale', call: 'Chiama', hangUp: 'Riaggancia', cancel: 'Annulla', mute: 'Disattiva microfono',
      asking: 'Consenta l’uso del microfono.', connecting: 'Chiamata in corso …', live: 'Connesso. Ora può parlare.', unstable: 'La connessione è debole …',
      resuming: 'La connessione è caduta. La stiamo ripristinando; ora non la sentiamo.', ended: 'La chiamata è terminata.',
      microphone: 'Il microfono non è consentito. Lo consenta accanto all’indirizzo di questa pagina e richiami.',
      noMicrophone: 'Nessun microfono disponibile. Ne colleghi uno o chiuda gli altri programmi che lo usano.',
      unsupported: 'Questo browser non può chiamare qui. Usi un browser aggiornato e un indirizzo https.',
      busy: 'Tutte le linee sono occupate. Richiami tra un momento.', unreachable: 'Il servizio di chiamata non risponde. Riprovi più tardi.',
      secret: 'Questa pagina non ha il permesso di chiamare in questo momento. La ricarichi e richiami.',
      origin: 'Questa pagina non può chiamare. Il gestore può consentirlo nel servizio di chiamata.',
      network: 'Connessione non riuscita. Forse un firewall la blocca: provi un’altra rete.',
      lost: 'La connessione è caduta e la chiamata è terminata. Richiami, per favore.', other: 'La chiamata non ha funzionato. Richiami, per favore.',
    },
    nl: {
      region: 'Spraakoproep', call: 'Bellen', hangUp: 'Ophangen', cancel: 'Annuleren', mute: 'Dempen',
      asking: 'Sta de microfoon toe.', connecting: 'Verbinden …', live: 'Verbonden. U kunt nu spreken.', unstable: 'De verbinding is zwak …',
      resuming: 'De verbinding is weg en wordt hersteld. U bent nu niet te horen.', ended: 'Het gesprek is afgelopen.',
      microphone: 'De microfoon is niet toegestaan. Sta hem toe naast het adres van deze pagina en bel opnieuw.',
      noMicrophone: 'Er kon geen microfoon worden geopend. Sluit er een aan, of sluit programma’s die hem gebruiken.',
      unsupported: 'Deze browser kan hier niet bellen. Gebruik een actuele browser en een https-adres.',
      busy: 'Alle lijnen zijn bezet. Bel over een ogenblik opnieuw.', unreachable: 'De beldienst antwoordt niet. Probeer het later.',
      secret: 'Deze pagina mag nu niet bellen. Laad haar opnieuw en bel nog eens.',
      origin: 'Deze pagina mag niet bellen. De eigenaar kan dat in de beldienst toestaan.',
      network: 'Er kwam geen verbinding tot stand. Misschien houdt een firewall haar tegen: probeer een ander netwerk.',
      lost: 'De verbinding is weg en het gesprek is afgelopen. Bel opnieuw.', other: 'Het bellen lukte niet. Bel opnieuw.',
    },
    pt: {
      region: 'Chamada de voz', call: 'Ligar', hangUp: 'Desligar', cancel: 'Cancelar', mute: 'Silenciar',
      asking: 'Permita o uso do microfone.', connecting: 'A ligar …', live: 'Ligação feita. Já pode falar.', unstable: 'A ligação está fraca …',
      resuming: 'A ligação caiu e está a ser restabelecida. Neste momento não é ouvido.', ended: 'A chamada terminou.',
      microphone: 'O microfone não está autorizado. Autorize-o junto ao endereço desta página e ligue de novo.',
      noMicrophone: 'Nenhum microfone pôde ser aberto. Ligue um ou feche outros programas que o usem.',
      unsupported: 'Este navegador não pode ligar daqui. Use um navegador atual e um endereço https.',
      busy: 'Todas as linhas estão ocupadas. Ligue de novo dentro de momentos.', unreachable: 'O serviço de chamadas não responde. Tente mais tarde.',
      secret: 'Esta página não tem autorização para ligar neste momento. Recarregue-a e ligue de novo.',
      origin: 'Esta página não pode ligar. O responsável pode autorizá-la no serviço de chamadas.',
      network: 'Não foi possível ligar. Talvez uma firewall o impeça: tente outra rede.',
      lost: 'A ligação caiu e a chamada terminou. Ligue de novo.', other: 'A chamada não funcionou. Ligue de novo.',
    },
  };

  /** @type {Record<string, string>} The words for each problem of the client library, and for each end of a call. */
  const TOLD = {
    microphone_refused: 'microphone', microphone_missing: 'noMicrophone', microphone_busy: 'noMicrophone',
    insecure_context: 'unsupported', not_supported: 'unsupported', server_full: 'busy', memory_full: 'busy', server_unreachable: 'unreachable',
    server_stopping: 'unreachable', not_ready: 'unreachable', missing_api_key: 'secret', invalid_api_key: 'secret', too_many_wrong_keys: 'secret',
    key_revoked: 'secret', secret: 'secret', origin_not_allowed: 'origin', connect_timeout: 'network', lost: 'lost', failed: 'lost',
    hangup: 'ended', silence: 'ended', agent_ended: 'ended', call_limit: 'ended', replaced: 'ended',
  };

  const STYLE = `
    :host { all: initial; color-scheme: light dark; display: block; font: 1rem/1.4 var(--voiceagent-font, system-ui, sans-serif); }
    :host([data-theme=light]) { color-scheme: light; }
    :host([data-theme=dark]) { color-scheme: dark; }
    :host([data-position=end]), :host([data-position=start]) {
      position: fixed; z-index: 2147483000; inset-block-end: var(--voiceagent-gap, 1rem); max-width: calc(100vw - 2 * var(--voiceagent-gap, 1rem));
    }
    :host([data-position=end]) { inset-inline-end: var(--voiceagent-gap, 1rem); }
    :host([data-position=start]) { inset-inline-start: var(--voiceagent-gap, 1rem); }
    section { display: flex; flex-direction: column; align-items: flex-end; gap: .5rem; }
    :host([data-position=start]) section, :host([data-position=inline]) section { align-items: flex-start; }
    .panel {
      width: 20rem; max-width: 100%; box-sizing: border-box; padding: .75rem 1rem; border-radius: var(--voiceagent-radius, 1rem);
      background: var(--voiceagent-surface, light-dark(#fffdf9, #1b1f25)); color: var(--voiceagent-text, light-dark(#1c1e1d, #ece8e0));
      border: 1px solid light-dark(#d8d3c8, #4a525e); box-shadow: 0 .25rem 1.25rem rgb(0 0 0 / .2);
    }
    .panel.empty { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; padding: 0; border: 0; overflow: hidden; }
    p { margin: 0; overflow-wrap: anywhere; }
    .problem { font-weight: 600; }
    .recording { margin-block-start: .5rem; font-weight: 600; }
    .recording:empty { margin: 0; }
    .recording.on::before { content: ''; display: inline-block; margin-inline-end: .5rem; border: .375rem solid light-dark(#b0271f, #ef7a6f); border-radius: 50%; }
    .said { margin-block-start: .5rem; }
    .said:empty { display: none; }
    .buttons { display: flex; gap: .5rem; flex-wrap: wrap; justify-content: flex-end; }
    button {
      all: unset; box-sizing: border-box; display: inline-flex; align-items: center; gap: .5rem; min-height: 3rem; padding: 0 1.25rem; cursor: pointer;
      border-radius: var(--voiceagent-radius, 1.5rem); font-weight: 600; border: 2px solid transparent;
      background: var(--voiceagent-color, #0e6158); color: var(--voiceagent-ink, #fff); box-shadow: 0 .125rem .5rem rgb(0 0 0 / .25);
    }
    button:focus-visible { outline: 3px solid light-dark(#1c1e1d, #fff); outline-offset: 2px; }
    button.stop { background: var(--voiceagent-stop, #b0271f); color: var(--voiceagent-stop-ink, #fff); }
    button.mute[aria-pressed=true] { background: light-dark(#1c1e1d, #ece8e0); color: light-dark(#fffdf9, #1b1f25); }
    button.mute[aria-pressed=false] { background: var(--voiceagent-surface, light-dark(#fffdf9, #1b1f25)); color: var(--voiceagent-text, light-dark(#1c1e1d, #ece8e0)); border-color: currentColor; }
    [hidden] { display: none !important; }
    svg { width: 1.25rem; height: 1.25rem; fill: currentColor; flex: none; }
    .stop svg { rotate: 135deg; }
    @media (forced-colors: active) { button, .panel { border: 2px solid; } }
    @media (prefers-reduced-motion: no-preference) { button { transition: background-color .15s; } .stop svg { transition: rotate .15s; } }
  `;
  const PHONE = 'M6.6 10.8a15 15 0 0 0 6.6 6.6l2.2-2.2a1 1 0 0 1 1-.25 11.4 11.4 0 0 0 3.6.57 1 1 0 0 1 1 1V20a1 1 0 0 1-1 1A17 17 0 0 1 3 4a1 1 0 0 1 1-1h3.5a1 1 0 0 1 1 1c0 1.24.2 2.45.57 3.57a1 1 0 0 1-.25 1z';

  const asked = [lang, document.documentElement.lang, ...navigator.languages].map((tag) => (tag ?? '').slice(0, 2).toLowerCase());
  const language = asked.find((code) => code in WORDS) ?? 'en';
  const words = WORDS[language];

  /**
   * @template {keyof HTMLElementTagNameMap} Name
   * @param {Name} name @param {string} classes @param {(Node | string)[]} inside @returns {HTMLElementTagNameMap[Name]}
   */
  function make(name, classes, ...inside) {
    const made = document.createElement(name);
    made.className = classes;
    made.append(...inside);
    return made;
  }

  const host = /** @type {HTMLElement} */ (document.createElement('voiceagent-call'));
  host.dataset.position = position;
  if (theme) host.dataset.theme = theme;
  const shadow = host.attachShadow({ mode: 'open' });
  const status = make('p', 'status');
  status.setAttribute('role', 'status');
  const recorded = make('p', 'recording');
  recorded.setAttribute('role', 'status');
  const said = make('p', 'said');
  const panel = make('div', 'panel empty', status, recorded, said);
  const text = make('span', '');
  const icon = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  icon.setAttribute('viewBox', '0 0 24 24');
  icon.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(icon.namespaceURI, 'path');
  path.setAttribute('d', PHONE);
  icon.append(path);
  const callButton = make('button', 'call', icon, text);
  const muteButton = make('button', 'mute', words.mute);
  callButton.type = muteButton.type = 'button';
  const speaker = make('audio', '');
  speaker.autoplay = true;
  const section = make('section', '', panel, make('div', 'buttons', muteButton, callButton), speaker);
  section.setAttribute('aria-label', words.region);
  section.lang = language;

  /** @type {import('./lib/voiceagent.js').VoiceAgent | null} */
  let agent = null;
  /** @type {import('./lib/voiceagent.js').RecordingNotice | null} */
  let notice = null;
  let attempt = 0;
  let failures = 0;

  /** @param {string} state @param {string} told the status line @param {boolean} [isProblem] */
  function show(state, told, isProblem = false) {
    const isIdle = state === 'idle';
    const inCall = ['live', 'unstable', 'resuming'].includes(state);
    host.dataset.state = state;
    status.textContent = told;
    status.classList.toggle('problem', isProblem);
    panel.classList.toggle('empty', !told);
    text.textContent = isIdle ? label || words.call : inCall ? words.hangUp : words.cancel;
    callButton.classList.toggle('stop', !isIdle);
    if (!inCall && shadow.activeElement === muteButton) callButton.focus();
    muteButton.hidden = !inCall;
    showMuted();
  }

  function showMuted() {
    muteButton.setAttribute('aria-pressed', String(agent?.muted ?? false));
  }

  /** @param {string} code of a problem, or the reason of an end */
  function end(code) {
    const told = TOLD[code] ?? 'other';
    speaker.srcObject = null;
    said.textContent = '';
    notice?.clear();
    show('idle', words[told], told !== 'ended');
    host.dataset.code = code;
  }

  /** A client secret from the page's own server, which holds the key. @returns {Promise<string>} */
  async function secret() {
    if (!secretUrl) return '';
    const response = await fetch(secretUrl, { method: 'POST' }).catch(() => null);
    if (!response || response.status >= 500) throw { code: 'server_unreachable' };
    const answer = response.ok ? await response.json().catch(() => null) : null;
    if (typeof answer?.value !== 'string') throw { code: 'secret' };
    return answer.value;
  }

  /** @returns {Promise<typeof import('./lib/voiceagent.js')>} */
  const library = () => import(`${server}/lib/voiceagent.js${failures ? `?${failures}` : ''}`);

  /** The library could not be loaded: the server is away, or lets no page of this origin. @returns {Promise<string>} */
  function whyNotLoaded() {
    failures += 1;
    return fetch(`${server}/healthz`, { mode: 'no-cors' }).then(() => 'origin_not_allowed', () => 'server_unreachable');
  }

  async function call() {
    const mine = (attempt += 1);
    delete host.dataset.code;
    show('connecting', words.connecting);
    try {
      const { VoiceAgent, RecordingNotice } = await library().catch(async () => { throw { code: await whyNotLoaded() }; });
      const value = await secret();
      if (mine !== attempt) return;
      const made = new VoiceAgent({ url: server, key: value });
      agent = made;
      const shown = (notice ??= new RecordingNotice(recorded, [language]));
      made.addEventListener('audio', (event) => { speaker.srcObject = /** @type {CustomEvent} */ (event).detail; });
      made.addEventListener('state', (event) => {
        const { state, reason } = /** @type {CustomEvent} */ (event).detail;
        if (state !== 'idle') show(state, words[state]);
        else if (reason !== 'problem') end(reason);
      });
      made.addEventListener('message', (event) => {
        const { type, heard } = /** @type {CustomEvent} */ (event).detail;
        shown.take(/** @type {CustomEvent} */ (event).detail);
        if (type !== 'voiceagent.heard') return;
        said.textContent = heard.length > CAPTION_CHARACTERS ? `… ${heard.slice(-CAPTION_CHARACTERS)}` : heard;
      });
      await made.connect();
    } catch (problem) {
      const { code } = /** @type {{code?: string}} */ (problem);
      if (mine === attempt) end(code === 'cancelled' ? 'hangup' : code ?? 'other');
    }
  }

  function hangUp() {
    if (agent?.busy) return agent.hangUp();
    attempt += 1;
    return end('hangup');
  }

  callButton.addEventListener('click', () => (host.dataset.state === 'idle' ? call() : hangUp()));
  muteButton.addEventListener('click', () => {
    agent?.setMuted(!agent.muted);
    showMuted();
  });
  section.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && host.dataset.state === 'idle') show('idle', '');
  });
  addEventListener('pagehide', () => agent?.hangUp());

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];
  shadow.append(section);
  show('idle', '');
  if (position === 'inline') script.after(host);
  else if (document.body) document.body.append(host);
  else addEventListener('DOMContentLoaded', () => document.body.append(host));
})();
