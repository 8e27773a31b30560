"""Pages that cost a careless reader minutes or gigabytes: by name, as HTML."""

from __future__ import annotations

BOMB = "<!DOCTYPE html [<!ENTITY a0 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)
)
HOSTILE = {
    "entity bomb": f"{BOMB}]><html><body><p>&a11;</p></body></html>",
    "equal paragraphs": "<p>This is a paragraph, word for word the same as all.</p>" * 40_000,
    "breaks": "x<br>" * 150_000,
    "nested blocks": "<div>" * 50_000 + "words at the very depth",
    "nested often": ("<div>" * 300 + "words" + "</div>" * 300) * 500,
    "nested tables": ("<table><tr><td>" * 80 + "hi" + "</td></tr></table>" * 80) * 200,
    "many tables": "<div><div><table><tr><td>1</td><td>two</td></tr></table></div></div>" * 25_000,
    "many infoboxes": ("<div class=infobox>a" * 200 + "</div>" * 200) * 300,
    "unclosed": "<b><p>text here</p>" * 60_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">hello</p>",
    "a huge attribute": f"<p title='{'x' * 4_000_000}'>hello</p>",
    "styles": f"<p style='{'a:b;' * 20}'>hello</p>" * 8_000,
    "entities": "&amp;&lt;&#x41;" * 130_000,
    "open tags": "<a " * 600_000,
    "open comments": "<!--" * 500_000,
    "open scripts": "<script>" * 200_000,
    "marks": "a" + "\u0301\u0327" * 450_000,
    "blanks": "\n \t" * 700_000 + "a",
    "definitions": "<dl>" + "<dt>x<dd>yyy" * 50_000,
    "sheet": f"<style>{'.a,.b{color:#fff}' * 20_000}</style>" + "<p class='a b'>x" * 50_000,
    "braces": f"<style>{'@media screen{' * 10_000}{'.x{opacity:0}' * 9000}</style><p class=x>y",
    "colours": ("<font color=red>" * 200 + "x" + "</font>" * 200) * 250,
    "says hidden": "<div>" * 300 + "< hidden" * 2 + " hidden" * 250_000,
    "a name without an end": "<" + "a" * 2_000_000,
    "names without an end": ("<" + "a" * 5000) * 400,
    "attributes without blanks": "<p "
    + "".join(f'a{n}="1"' for n in range(150_000))
    + ">hello</p>",
    "a sheet of one selector": "<style>"
    + "".join(f".a{{p{n}:x;display:block}}" for n in range(2000))
    + "</style>"
    + "<p class=a>x" * 50_000,
    "classes": "<style>"
    + "".join(f".c{n % 100}{{color:red;top:{n}px}}" for n in range(2000))
    + "</style>"
    + "".join(
        f"<p class='{' '.join(f'c{k % 100}' for k in range(n, n + 50))}'>x" for n in range(9000)
    ),
    "a scaled style": f"<p style='transform:scale({' ' * 4900}'>hello</p>" * 400,
    "hidden with tails": "<b hidden></b>word " * 100_000,
    "long classes": "<div class='"
    + "c " * 4000
    + "'>"
    + "<div class='"
    + "c " * 300
    + "'>" * 200
    + "<table><tr><td>1<td>2</table>" * 1000,
    "nested infoboxes": "<div class=infobox>" * 25_000 + "words",
    "cells": "<table>" + "<td>" * 119_000 + "words",
    "empty blocks": "<div>" * 200 + "<div>\n<p></p></div>" * 28_000 + "words",
    "marked words": ("a" + "\u0301\u0327" * 200 + " ") * 2400,
    "a long number": "<p>&#"
    + "9" * 5000
    + ";words</p>" * 30
    + f"<p style='top:{'9' * 4400}px'>words</p>",
    "an odd colour": "<p style='color:rgba(0,0,0,1.2.3)'>words</p>"
    + f"<p style='color:rgb({'9' * 4400},1,1);opacity:{'9' * 4400}'>words</p>",
    "hidden": ("<div hidden>" * 200 + "x" + "</div>" * 200) * 600,
}
