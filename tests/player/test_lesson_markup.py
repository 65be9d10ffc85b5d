"""The Markdown of lessons as HTML."""

from __future__ import annotations

from gradviz.player.lesson_markup import plain, to_html


def test_paragraphs_lists_bold_and_code() -> None:
    text = "One\nline, `w.grad` and **bold `x`**.\n\n- first\n- second,\n  longer\n\n```python\na < b\n```\nAfter."
    assert to_html(text) == (
        "<p>One line, <code>w.grad</code> and <b>bold <code>x</code></b>.</p>"
        "<ul><li>first</li><li>second, longer</li></ul><pre>a &lt; b</pre><p>After.</p>"
    )


def test_nothing_is_taken_as_a_tag() -> None:
    assert to_html("<script>`<b>`</script>") == "<p>&lt;script&gt;<code>&lt;b&gt;</code>&lt;/script&gt;</p>"


def test_a_new_line_between_chinese_characters_is_no_space() -> None:
    assert to_html("它是\n叶子，即\n`w` 和\n`b`。") == "<p>它是叶子，即 <code>w</code> 和 <code>b</code>。</p>"
    assert to_html("`w`，\n`b`") == "<p><code>w</code>，<code>b</code></p>"
    assert to_html("one\ntwo") == "<p>one two</p>"


def test_plain_words_for_those_who_listen() -> None:
    assert plain("**Now** `w` is\n```python\nx = 1\n```") == "Now w is\nx = 1\n"
