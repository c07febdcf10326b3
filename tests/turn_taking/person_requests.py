"""What callers say who ask for a person, and what callers say who do not: by language. Written down by hand, with spellings that
Whisper chose for them where it heard them over a telephone."""

from __future__ import annotations

ASKS = {
    "en": """Operator.
Operator, please!
Human.
A human, please.
Real person please.
Representative.
Representive.
Uh, agent.
No, operator.
Customer service, please.
I want to speak to a human.
I want to speak to a human being, please.
Can I talk to a real person?
Could I please speak with someone about my bill?
Let me talk to your manager.
Put me through to somebody, please.
Please connect me to an agent.
Can you transfer me to a representative?
I need an operator.
Give me a person.
Get me a human, now!
I don't want to talk to a machine, I want to talk to a human.
You don't understand. I'd like to speak to a representative, please.
Why can't I just talk to a person?
No, not you, I want to speak with a live person.
Isn't there a human?
Is this a robot? Can I speak to a human, please?
Hello, I'd like to speak to someone in Billin.
of agent.
No operator.
Give me that person.
Let me through to somebody. Please.
Is it there, a human?
You don't understand. I'd like to speak to a representative. Please.""",
    "de": """Mitarbeiter.
Mitarbeiter, bitte.
Einen Menschen bitte!
Kundenservice.
Ich möchte mit einem Menschen sprechen.
Ich will mit einem Mitarbeiter reden!
Kann ich bitte mit jemandem sprechen?
Kann ich mit einem echten Menschen über meine Rechnung sprechen?
Verbinden Sie mich bitte mit einem Mitarbeiter.
Verbinde mich mit jemandem.
Können Sie mich zu einem Kollegen durchstellen?
Bitte stellen Sie mich zu einem Mitarbeiter durch.
Ich brauche einen Mitarbeiter.
Geben Sie mir einen Menschen.
Ich möchte bitte Ihren Chef sprechen.
Nein, ich möchte mit einer richtigen Person sprechen.
Könnten Sie mich an einen Kollegen weiterleiten?
Ich möchte mit dem Kundendienst verbunden werden.""",
    "es": """Operador.
Operadora, por favor.
Un agente, por favor.
Quiero hablar con una persona.
Quiero hablar con una persona real.
No, quiero hablar con un humano.
¿Puedo hablar con alguien?
¿Me puede comunicar con un representante?
Páseme con un operador.
Pásame con una persona, por favor.
Necesito un agente.
Necesito hablar con un asesor de verdad.
Comuníqueme con un ser humano.
Que me atienda una persona.
Póngame con el encargado.""",
    "fr": """Un opérateur.
Un conseiller, s'il vous plaît.
Un humain !
Je voudrais parler à quelqu'un.
Je veux parler à un être humain.
Je peux parler à une vraie personne ?
Passez-moi un conseiller.
Passez moi quelqu'un, s'il vous plaît.
Pouvez-vous me mettre en relation avec un conseiller ?
J'aimerais parler à l'opérateur.
Je voudrais un conseiller.
Non, je veux parler avec une personne.
Est-ce que je peux parler à un responsable ?
Pouvez-vous me transférer à un agent ?
Je préfère avoir quelqu'un au téléphone.""",
    "it": """Operatore.
Un operatore, per favore.
Operatrice!
Vorrei parlare con un operatore.
Voglio parlare con una persona vera.
Posso parlare con qualcuno?
Mi passi un operatore.
Mi può passare un collega, per favore?
Mi metta in contatto con un responsabile.
Ho bisogno di un operatore.
No, voglio parlare con un essere umano.
Può trasferirmi a un operatore?
Vorrei parlare con un'operatrice.
Servizio clienti.""",
    "pt": """Atendente.
Atendente, por favor.
Um humano, por favor.
Quero falar com um atendente.
Eu quero falar com uma pessoa de verdade.
Não, quero falar com uma pessoa.
Posso falar com alguém?
Me transfere para um atendente.
Pode me transferir para um operador?
Passe-me a um operador, por favor.
Preciso de um atendente.
Gostaria de falar com o responsável.
Quero ser atendido por uma pessoa.
Pode me colocar em contato com alguém? Quero falar com o gerente.""",
    "nl": """Medewerker.
Een medewerker, alstublieft.
Klantenservice graag.
Ik wil een mens spreken.
Ik wil met een echt persoon praten.
Kan ik iemand spreken?
Kan ik met iemand praten over mijn rekening?
Verbind me door met een medewerker.
Kunt u mij doorverbinden met een collega?
Ik wil graag een medewerker.
Geef me een mens.
Nee, ik wil met een medewerker spreken.
Ik wil worden doorverbonden met een medewerker.
Mag ik een medewerker?""",
}

DOES_NOT = {
    "en": """The operator told me to call this number.
I'd like the humanities department.
I'm calling for human resources.
Can I speak to human resources?
Am I talking to a human?
Are you a human?
Is this a real person?
I spoke to a representative yesterday.
A table for one person, please.
A person told me to call you.
I don't want to speak to a person.
I do not want to talk to an agent.
My travel agent booked it.
I need an agent number.
What does an operator earn?
Someone else.
Someone called me from this number.
My name is Manager.
The human body has two hundred bones.
What time is it in Berlin?
I want to book a room for two people.
If I talk to a person, does it cost more?
Do you have a representative in Berlin?
Staff meeting at nine.
Did I talk to an agent before?""",
    "de": """Ein Mitarbeiter hat mir gesagt, ich soll hier anrufen.
Ich habe gestern mit einem Mitarbeiter gesprochen.
Ein Tisch für eine Person, bitte.
Ich möchte nicht mit einem Menschen sprechen.
Spreche ich mit einem Menschen?
Sind Sie ein Mensch?
Wie viele Menschen leben in Berlin?
Jemand hat mich angerufen.
Ich bin Mitarbeiter bei Ihnen.
Was sind Menschenrechte?
Wie ist das Wetter morgen?
Ich brauche kein Auto.""",
    "es": """El operador me dijo que llamara.
Ayer hablé con un agente.
Una mesa para una persona, por favor.
No quiero hablar con una persona.
¿Eres humano?
Recursos humanos.
¿Estoy hablando con una persona?
¿Cuántas personas viven en Madrid?
Alguien me llamó.
Soy agente de viajes.""",
    "fr": """L'opérateur m'a dit de vous appeler.
J'ai parlé à un conseiller hier.
Une table pour une personne, s'il vous plaît.
Je ne veux pas parler à un humain.
Êtes-vous un humain ?
Les ressources humaines.
Quelqu'un m'a appelé.
Mon agent immobilier a téléphoné.
Combien de personnes vivent à Paris ?
Quel temps fait-il demain ?""",
    "it": """L'operatore mi ha detto di chiamare.
Ieri ho parlato con un operatore.
Un tavolo per una persona, per favore.
Non voglio parlare con una persona.
Lei è umano?
Risorse umane.
Sto parlando con una persona?
Qualcuno mi ha chiamato.
Sono un agente di viaggio.
Che tempo fa domani?""",
    "pt": """O atendente me disse para ligar.
Ontem falei com um atendente.
Uma mesa para uma pessoa, por favor.
Não quero falar com uma pessoa.
Você é humano?
Recursos humanos.
Estou falando com uma pessoa?
Alguém me ligou.
Sou agente de viagens.
Que horas são?""",
    "nl": """Een medewerker heeft gezegd dat ik moest bellen.
Ik heb gisteren een medewerker gesproken.
Een tafel voor een persoon, alstublieft.
Ik wil niet met een mens praten.
Bent u een mens?
Spreek ik met een mens?
Mensenrechten.
Iemand heeft mij gebeld.
Hoeveel mensen wonen er in Utrecht?
Hoe laat is het?""",
}
