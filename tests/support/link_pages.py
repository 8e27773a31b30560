"""Pages in a browser: whether the words of a quote are in view."""

from __future__ import annotations

import re

from agent.documents import sniff

HTML = "Content-Type: text/html; charset=utf-8"
TALL = "<div style='height:4000px'></div>"

#: Finds the words of a quote in the page, without blanks and punctuation. The value has, for each
#: occurrence, whether its first word is in view, and whether any of it is.
FIND = r"""
(quote => {
  const skip = 'script,style,noscript,template,sup.reference,.mw-editsection';
  const plain = text => [...text.normalize('NFKC').toLowerCase()].filter(
    char => /[\p{L}\p{N}]/u.test(char)).join('');
  const wanted = plain(quote);
  let text = ''; const places = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (node.parentElement.closest(skip)) continue;
    for (let i = 0; i < node.length; i++) {
      const char = plain(node.data[i]);
      for (const one of char) { text += one; places.push([node, i]); }
    }
  }
  const seen = [];
  for (let at = text.indexOf(wanted); at >= 0 && wanted; at = text.indexOf(wanted, at + 1)) {
    const rects = [at, at + wanted.length - 1].map(i => {
      const range = document.createRange(), [node, offset] = places[i];
      range.setStart(node, offset); range.setEnd(node, offset + 1);
      return range.getBoundingClientRect();
    });
    const [first, last] = rects;
    if (!first.height) continue;
    seen.push([first.bottom > 0 && first.top < innerHeight,
               last.bottom > 0 && first.top < innerHeight]);
  }
  return seen;
})
"""


def prepare_page(body: bytes) -> bytes:
    """Return a page with empty space above and below, without its scripts, which have no server."""
    text = re.sub(r"(?is)<script\b.*?</script\s*>", "", sniff.decode(body, "text/html"))
    text = re.sub(r"(<body\b[^>]*>)", lambda m: m[1] + TALL, text, count=1, flags=re.I)
    head, end, rest = text.rpartition("</body>")
    return (f"{head}{TALL}{end}{rest}" if end else text + TALL).encode()
