"""The estimate of tokens beside what three tokenizers take for the same text: article 1 of the Universal Declaration of Human
Rights. The counts were taken with the tokenizers of Qwen 3, Llama 3.1 and Gemma 3 (`tokenizers` 0.23)."""

from __future__ import annotations

import pytest

from voiceagent.conversation.history import Message, ToolCall, estimated_tokens, tokens_of

MEASURED = {
    "Latin (English)": (
        "All human beings are born free and equal in dignity and rights. They are endowed with reas"
        "on and conscience and should act towards one another in a spirit of brotherhood.",
        (33, 33, 32),
    ),
    "Latin (German)": (
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und"
        " Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
        (44, 44, 39),
    ),
    "Latin (Vietnamese)": (
        "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con ng"
        "ười đều được tạo hóa ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình bằ"
        "ng hữu.",
        (48, 48, 48),
    ),
    "Cyrillic (Russian)": (
        "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом"
        " и совестью и должны поступать в отношении друг друга в духе братства.",
        (49, 48, 40),
    ),
    "Greek": (
        "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι "
        "προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμ"
        "α αδελφοσύνης.",
        (163, 74, 73),
    ),
    "Arabic": (
        "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.",
        (47, 48, 44),
    ),
    "Hebrew": (
        "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חוב"
        "ה עליהם לנהוג איש ברעהו ברוח של אחווה.",
        (51, 129, 60),
    ),
    "Devanagari (Hindi)": (
        "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन"
        "्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना"
        " चाहिए।",
        (171, 93, 45),
    ),
    "Thai": (
        "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ",
        (79, 61, 54),
    ),
    "Han (Chinese)": (
        "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
        (29, 38, 31),
    ),
    "Japanese": (
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており"
        "、互いに同胞の精神をもって行動しなければならない。",
        (52, 58, 46),
    ),
    "Hangul (Korean)": (
        "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여"
        "받았으며 서로 형제애의 정신으로 행동하여야 한다.",
        (55, 52, 49),
    ),
}
MOST_TOO_LOW, MOST_TOO_HIGH = 0.85, 2.5
"""Of the tokenizer that takes the most, and of the middle one."""


@pytest.mark.parametrize("script", MEASURED)
def test_an_estimate_is_rather_too_high_than_too_low_in_any_script(script: str) -> None:
    text, counts = MEASURED[script]
    assert tokens_of(text) >= MOST_TOO_LOW * max(counts)
    assert tokens_of(text) <= MOST_TOO_HIGH * sorted(counts)[1]


def test_a_conversations_estimate_counts_what_is_said_found_and_called() -> None:
    spoken = [Message("user", "abcd"), Message("assistant", "", (ToolCall("1", "f", "天气"),))]
    assert estimated_tokens(spoken) == 1 + 2
