"""Greedy decoding of several stretches of audio in one run of the encoder and one of the decoder (CTranslate2's Whisper takes
batches). Windows share a run only when they are encoded at the same length, so lengths come in steps. A window is padded no
further in a batch than alone, and its text is the same.

Leads a recogniser to the value that the caller was asked for: digits, or one of a few choices. Whisper goes on in the manner
of its prompt: behind number words it hears "seven" where it otherwise hears a name or "bye". Measured on people in English
(bench/results/people_recogniser.md). In other languages there was no speech to measure with, so they are led by a hint alone.
Pure."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import ctranslate2
import numpy as np
from faster_whisper.tokenizer import Tokenizer
from faster_whisper.transcribe import get_suppressed_tokens

from voiceagent.audio.format import HEARD_HZ
from voiceagent.stt.gates import ends_in_a_loop, says_all_twice
from voiceagent.stt.hypothesis import DecodeWindow, Hypothesis, RecognisedWord
from voiceagent.stt.short_whisper import ShortWhisper
from voiceagent.stt.vocabulary import Vocabulary, WordTrial, with_trials
from voiceagent.turn_taking.language import bare_words
from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.patience import NOTHING, ExpectedValue


class GenerationResult(Protocol):
    """`ctranslate2.models.WhisperGenerationResult`: hypotheses, the best one first."""

    sequences_ids: Sequence[Sequence[int]]
    scores: Sequence[float]
    """Mean log probabilities."""
    no_speech_prob: float


class Alignment(Protocol):
    """`ctranslate2.models.WhisperAlignmentResult`."""

    alignments: Sequence[tuple[int, int]]
    """Pairs of a token's index and a position in the audio."""
    text_token_probs: Sequence[float]


LANGUAGE = "en"
LEADING_DIGITS = (4, 7, 1, 9, 3)
"""In no order, or the model counts on."""
MOST_TOKENS = 10
"""The longest value. A longer text whose end is not found by then is a loop."""
SHORT_WORDS = 3
"""A text of more words is no single value. It is written once."""


def leading_text(value: ExpectedValue, word: str = "") -> str:
    """A text that the model is given as said before: a word of the vocabulary, the value's hint, or values, each as a sentence of
    its own. All that leads the recogniser at a moment is put together here."""
    if word:
        return f"{word}."
    if value.hint:
        return value.hint
    numbers = {number: word for word, number in language(LANGUAGE).numbers.items()}
    values = [*(numbers[digit] for digit in LEADING_DIGITS if value.digits), *value.choices]
    return " ".join(f"{one[:1].upper()}{one[1:]}." for one in values)


def is_short(text: str) -> bool:
    """True when the text may be a single value that was misheard."""
    return len(text.split()) <= SHORT_WORDS


def is_echo(text: str, hint: str) -> bool:
    """True if several words stand in the hint in the same order: a recogniser writes them for a noise."""
    said, known = bare_words(text), bare_words(hint)
    return len(said) > 1 and any(known[at : at + len(said)] == said for at in range(len(known)))


def is_value(text: str, value: ExpectedValue, code: str = LANGUAGE) -> bool:
    """True when the text is such a value and nothing else, in the language of that code."""
    return value.holds(text, language(code))


SURE = -0.15
"""A text of this mean log-probability is not written again behind a hint: none of people's came out better."""
LEAST_GAIN = -2.5
"""A word of the vocabulary is taken if the text with it is at most this much less likely than the model's own, by the word's
tokens, in log-probabilities."""
SURE_OF_TEXT, SURE_OF_TOKEN = -1.5, -0.12
"""The log-probabilities of a text, and of each of its tokens on average, above either of which no word of the vocabulary is
tried: the model is sure of all that it wrote. Of 149 misheard words of a house that were looked at, none stood in such a
text; of 144 parts of people's texts that only sound like one, 37 did."""
LEAST_PROBABILITY = 1e-9
SHORTEST_LIMIT_TOKENS = 24
LOOP_POWERS = (1, 3)
"""Powers of the penalty at the second and the third writing. A short loop needs the cube, which costs words in a long
sentence."""
ONCE_S = 1.3
"""Audio, with the 0.6 s of silence around its speech, in which nobody says the same twice."""
SURE_OF_LANGUAGE = 0.6
"""From this probability on, among the languages that may be spoken, a window counts as another one than the call's …"""
LEAST_OF_ALL = 0.4
"""… where it has at least this one among all that the model knows: a sound like none of them says nothing."""
PROMPT_CHARACTERS = 200
PROMPT_STEP_TOKENS = 8
"""Prompts are cut to a multiple of this: in a batch the start of the transcript must stand at the same place."""


@dataclass(frozen=True, slots=True)
class DecodeShape:
    """The properties that windows must share to be decoded in one run."""

    frames: int
    prompt_tokens: int
    word_times: bool
    expected: ExpectedValue
    vocabulary: Vocabulary | None


class BatchDecoder:
    """Decodes windows of one shape with a loaded model. Safe to use from several threads.

    Args:
        model: the model, its tokenizer and its features.
        languages: the Whisper codes of the languages that may be spoken; a window that names none, and is not asked, is in the
            first. English-only models ignore it.
        beam_size: 1 is greedy.
        suppress_tokens: tokens that are never written; None: faster-whisper's default, the symbols that nobody speaks.
        without_timestamps: whether the model is asked for text only.
        tokens_per_second: with `SHORTEST_LIMIT_TOKENS` more, the longest transcript: a loop ends there.
        loop_penalty: a transcript that ends in a loop is written once more with this repetition penalty (arXiv 1909.05858 §4.1),
            from the same encoding, and again with its cube if need be; 1 is none, and then nothing is written again.
        tries_words: whether words of a vocabulary that a text sounds like are tried in it.
    """

    def __init__(
        self,
        model: ShortWhisper,
        *,
        languages: Sequence[str] = ("en",),
        beam_size: int = 1,
        suppress_tokens: Sequence[int] | None = None,
        without_timestamps: bool = True,
        tokens_per_second: float = 12.0,
        loop_penalty: float = 1.0,
        tries_words: bool = True,
    ) -> None:
        self.written_again = 0
        """The number of times that a transcript ended in a loop and was written again."""
        self.model = model
        self._loop_penalty = loop_penalty
        self._tries_words = tries_words
        self._beam_size = beam_size
        self._tokens_per_second = tokens_per_second
        self._multilingual = multilingual = bool(model.model.is_multilingual)
        self._tokenizer = Tokenizer(
            model.hf_tokenizer,
            multilingual,
            task="transcribe" if multilingual else None,
            language=languages[0] if multilingual else None,
        )
        self._suppress = list(get_suppressed_tokens(self._tokenizer, [-1] if suppress_tokens is None else list(suppress_tokens)))
        self._spoken = tuple(languages)
        self._marks = [self._tokenizer.no_timestamps] if without_timestamps else []

    def shape(self, window: DecodeWindow) -> DecodeShape:
        """The shape that a window must share with others to be decoded beside them."""
        frames = self.model.frames_to_encode(self.model.frames_of(len(window.audio)))
        return DecodeShape(frames, len(self._prompt(window.prompt)), window.word_times, window.expected, window.vocabulary)

    def decode(self, windows: Sequence[DecodeWindow]) -> list[Hypothesis]:
        """Decode windows that all have the same shape; returns one hypothesis a window, in order. Raises what CTranslate2
        raises."""
        frames = self.shape(windows[0]).frames
        encoded = self.model.encode_frames([self.model.features(window.audio) for window in windows], frames)
        languages = self._languages(windows, encoded)
        prompts = [
            [*self._prompt(window.prompt), *self._start(language)] for window, language in zip(windows, languages, strict=True)
        ]
        results = self._written(windows, encoded, prompts)
        judged = self._lead_to_value(windows, encoded, languages, results)
        tokens = [self._text_tokens(result) for result in results]
        texts = [self._text(result) for result in results]
        if windows[0].word_times and any(texts):
            lengths = [self.model.frames_of(len(window.audio)) for window in windows]
            words = self._align(encoded, tokens, lengths)
        else:
            words = [tuple(RecognisedWord(word, 0.0, 0.0, 1.0) for word in text.split()) for text in texts]
        if windows[0].vocabulary is not None:
            words = self._with_vocabulary(windows[0].vocabulary, encoded, languages, results, words)
        return [
            Hypothesis(
                words=heard,
                no_speech_probability=float(judge.no_speech_prob),
                mean_log_probability=_mean_log_probability(judge),
                compression_ratio=compression_ratio(text),
                language=language if window.detect else "",
            )
            for window, language, heard, judge, text in zip(windows, languages, words, judged, texts, strict=True)
        ]

    def _languages(self, windows: Sequence[DecodeWindow], encoded: ctranslate2.StorageView) -> list[str]:
        """The language of each window: that which is set, or heard where it is asked for."""
        if not self._multilingual or not any(window.detect for window in windows):
            return [window.language or self._spoken[0] for window in windows]
        found = self.model.model.detect_language(encoded)
        return [
            heard_language({token.strip("<|>"): chance for token, chance in chances}, self._spoken, window.language)
            if window.detect
            else window.language or self._spoken[0]
            for window, chances in zip(windows, found, strict=True)
        ]

    def _start(self, language: str) -> list[int]:
        """The tokens with which a transcript in a language begins."""
        return [*self._sequence(language), *self._marks]

    def _sequence(self, language: str) -> list[int]:
        sequence = list(self._tokenizer.sot_sequence)
        if self._multilingual:
            token = self.model.hf_tokenizer.token_to_id(f"<|{language}|>")
            sequence[1] = sequence[1] if token is None else token
        return sequence

    def _written(
        self, windows: Sequence[DecodeWindow], encoded: ctranslate2.StorageView, prompts: Sequence[Sequence[int]]
    ) -> list[GenerationResult]:
        """One transcript a window; for a transcript that ends in a loop, the second or the third writing."""
        results = self._generate(windows, encoded, prompts, 1.0)
        if self._loop_penalty == 1.0:
            return results
        for power in LOOP_POWERS:
            looped = [row for row, window in enumerate(windows) if self._loops(results[row], window)]
            if not looped:
                break
            self.written_again += len(looped)
            again = self._generate(windows, encoded, prompts, self._loop_penalty**power)
            for row in looped:
                results[row] = again[row]
        return results

    def _lead_to_value(
        self,
        windows: Sequence[DecodeWindow],
        encoded: ctranslate2.StorageView,
        languages: Sequence[str],
        results: list[GenerationResult],
    ) -> list[GenerationResult]:
        """Write answers once more, from the same encoding, led to what was asked for. A new text of a short one is the result if
        it is such a value and likelier than the one before; behind a hint, any that is likelier and no part of the hint. Returns
        the results by which the gates judge: behind a hint, a noise is written as such an answer, too."""
        value = windows[0].expected
        asked = [
            row
            for row, language in enumerate(languages)
            if (value.digits or value.choices) and (value.hint or language == LANGUAGE) and is_short(self._text(results[row]))
        ]
        if asked:
            led = self._led(windows, encoded, languages, self._loop_penalty ** LOOP_POWERS[-1], MOST_TOKENS)
            for row in asked:
                has_ended = len(self._text_tokens(led[row])) < MOST_TOKENS
                is_such = has_ended and is_value(self._text(led[row]), value, languages[row])
                if is_such and _mean_log_probability(led[row]) > _mean_log_probability(results[row]):
                    results[row] = led[row]
        judged = list(results)
        unsure = [row for row, result in enumerate(results) if self._text(result) and _mean_log_probability(result) < SURE]
        if value.hint and unsure:
            led = self._led(windows, encoded, languages, 1.0)
            for row in unsure:
                is_likelier = _mean_log_probability(led[row]) > _mean_log_probability(results[row])
                if is_likelier and not self._loops(led[row], windows[row]) and not is_echo(self._text(led[row]), value.hint):
                    results[row] = led[row]
        return judged

    def _led(
        self,
        windows: Sequence[DecodeWindow],
        encoded: ctranslate2.StorageView,
        languages: Sequence[str],
        penalty: float,
        most_tokens: int = 0,
    ) -> list[GenerationResult]:
        """One transcript a window, written behind the text that leads to the value."""
        lead = [self._tokenizer.sot_prev, *self._tokenizer.encode(f" {leading_text(windows[0].expected)}")]
        return self._generate(windows, encoded, [[*lead, *self._start(code)] for code in languages], penalty, most_tokens)

    def _with_vocabulary(
        self,
        vocabulary: Vocabulary,
        encoded: ctranslate2.StorageView,
        languages: Sequence[str],
        results: Sequence[GenerationResult],
        words: Sequence[Sequence[RecognisedWord]],
    ) -> list[tuple[RecognisedWord, ...]]:
        """The words, with those of the vocabulary that were probably said in place of others."""
        found: list[tuple[RecognisedWord, ...]] = []
        for row, (code, result, heard) in enumerate(zip(languages, results, words, strict=True)):
            text = vocabulary.spelled(heard)
            gains: list[tuple[float, WordTrial]] = []
            length = len(result.sequences_ids[0])
            own = float(result.scores[0]) * length
            is_sure = own > min(SURE_OF_TEXT, SURE_OF_TOKEN * length)
            for trial in vocabulary.trials(text) if self._tries_words and not is_sure else ():
                lead = [self._tokenizer.sot_prev, *self._tokenizer.encode(f" {leading_text(NOTHING, trial.word)}")]
                tokens = self._tokenizer.encode(" " + " ".join(word.text for word in trial.on(text)))
                (forced,) = self.model.model.align(
                    encoded if len(words) == 1 else _row(encoded, row), [*lead, *self._sequence(code)], [tokens], [2]
                )
                likelihood = float(np.log(np.maximum(forced.text_token_probs, LEAST_PROBABILITY)).sum())
                gain = (likelihood - own) / len(self._tokenizer.encode(f" {trial.word}"))
                if gain > LEAST_GAIN:
                    gains.append((gain, trial))
            found.append(tuple(with_trials(text, [trial for _, trial in sorted(gains, key=lambda each: -each[0])])))
        return found

    def _text(self, result: GenerationResult) -> str:
        return str(self._tokenizer.decode(self._text_tokens(result))).strip()

    def _generate(
        self,
        windows: Sequence[DecodeWindow],
        encoded: ctranslate2.StorageView,
        prompts: Sequence[Sequence[int]],
        penalty: float,
        most_tokens: int = 0,
    ) -> list[GenerationResult]:
        """One transcript a window, of at most so many tokens; 0: as many as its audio allows."""
        tokens = most_tokens or max(self._limit_tokens(window) for window in windows)
        return list(
            self.model.model.generate(
                encoded,
                prompts,
                beam_size=self._beam_size,
                max_length=self._max_length(tokens, len(prompts[0])),
                suppress_tokens=self._suppress,
                repetition_penalty=penalty,
                return_scores=True,
                return_no_speech_prob=True,
            )
        )

    def _text_tokens(self, result: GenerationResult) -> list[int]:
        return [token for token in result.sequences_ids[0] if token < self._tokenizer.eot]

    def _loops(self, result: GenerationResult, window: DecodeWindow) -> bool:
        """True when the transcript was stopped at its limit, ends in a repetition, or is one in audio too short for it."""
        words = self._text(result).split()
        if len(self._text_tokens(result)) >= self._limit_tokens(window) or ends_in_a_loop(words):
            return True
        return len(window.audio) < ONCE_S * HEARD_HZ and says_all_twice(words)

    def _limit_tokens(self, window: DecodeWindow) -> int:
        return SHORTEST_LIMIT_TOKENS + int(self._tokens_per_second * len(window.audio) / HEARD_HZ)

    def _max_length(self, tokens: int, prompt_tokens: int) -> int:
        """The `max_length` for `generate` with which a transcript of that many tokens fits: `generate` subtracts the prompt, and
        never writes more than half of it."""
        return min(int(self.model.max_length), max(2 * tokens, prompt_tokens + tokens))

    def _prompt(self, text: str) -> list[int]:
        """The tokens before the transcript: the end of `text`; none when it is too short to matter."""
        if not text:
            return []
        tokens = self._tokenizer.encode(" " + text[-PROMPT_CHARACTERS:].strip())
        kept = len(tokens) - len(tokens) % PROMPT_STEP_TOKENS
        return [self._tokenizer.sot_prev, *tokens[len(tokens) - kept :]] if kept else []

    def _align(
        self, encoded: ctranslate2.StorageView, tokens: list[list[int]], lengths: list[int]
    ) -> list[tuple[RecognisedWord, ...]]:
        """The words with their times, by the attention of the model's alignment heads and dynamic time warping."""
        alignments = self.model.model.align(encoded, list(self._tokenizer.sot_sequence), tokens, lengths)
        return [self._words(ids, alignment) for ids, alignment in zip(tokens, alignments, strict=True)]

    def _words(self, tokens: list[int], alignment: Alignment) -> tuple[RecognisedWord, ...]:
        """One alignment as words. A piece without a space before it belongs to the previous word."""
        if not tokens:
            return ()
        path = np.array(alignment.alignments).reshape(-1, 2)
        first_position = path[np.flatnonzero(np.diff(path[:, 0], prepend=-1)), 1]
        starts_s = np.append(first_position, path[-1, 1])[: len(tokens) + 1] / self.model.tokens_per_second
        pieces, piece_tokens = self._tokenizer.split_to_word_tokens([*tokens, self._tokenizer.eot])
        words: list[RecognisedWord] = []
        at = 0
        for piece, ids in zip(pieces[:-1], piece_tokens[:-1], strict=True):
            start_s, end_s = float(starts_s[at]), float(starts_s[min(at + len(ids), len(starts_s) - 1)])
            probability = float(np.mean(alignment.text_token_probs[at : at + len(ids)]))
            at += len(ids)
            text = piece.strip()
            if text and words and not piece.startswith(" "):
                before = words[-1]
                words[-1] = RecognisedWord(before.text + text, before.start_s, end_s, min(before.probability, probability))
            elif text:
                words.append(RecognisedWord(text, start_s, end_s, probability))
        return tuple(words)


def heard_language(chances: Mapping[str, float], spoken: Sequence[str], likely: str) -> str:
    """The one of the `spoken` languages that was heard, by the model's probabilities of all that it knows; in doubt the `likely`
    one, or the best if there is none."""
    best = max(spoken, key=lambda code: chances.get(code, 0.0))
    chance = chances.get(best, 0.0)
    is_sure = chance >= LEAST_OF_ALL and chance >= SURE_OF_LANGUAGE * sum(chances.get(code, 0.0) for code in spoken)
    return best if is_sure or likely not in spoken else likely


def _row(encoded: ctranslate2.StorageView, row: int) -> ctranslate2.StorageView:
    """One window of several that were encoded together."""
    on_cpu = encoded if encoded.device == "cpu" else encoded.to_device(ctranslate2.Device.cpu)
    return ctranslate2.StorageView.from_array(np.ascontiguousarray(np.array(on_cpu)[row : row + 1]))


def compression_ratio(text: str) -> float:
    """The length of the text over its length in zlib: repetitive text compresses well. 0 for no text."""
    data = text.encode()
    return len(data) / len(zlib.compress(data)) if data else 0.0


def _mean_log_probability(result: GenerationResult) -> float:
    """The mean over the tokens and the end of the transcript; CTranslate2's score is the mean without that end."""
    length = len(result.sequences_ids[0])
    return float(result.scores[0]) * length / (length + 1)
