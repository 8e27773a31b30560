"""Pages shown instead of content: captchas, consent, age gates, login, JavaScript, "not found".

The notices are known in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish,
Russian, Japanese and Chinese.
"""

from __future__ import annotations

import re

#: Characters of text above which a page is no wall. Google's captcha page has 1,000. An article
#: about captchas is longer, or matches no pattern below. Checked on the walls of data/search; no
#: false positive on data/pages and data/worldcup. Run test_walls.py after changing it.
MAX_WALL_CHARS = 1500
#: Characters of text up to which the words of a notice make a page a wall.
MAX_NOTICE_CHARS = 600
SEARCHED_BYTES = 300_000  # of the HTML, from its beginning

#: Patterns of the HTML source, which only walls match.
_MARKUP_PATTERNS = (
    (
        "a captcha",
        r"<form[^<>]{0,200}\bid=[\"']?(?:captcha|challenge)-form|captcha-delivery\.com/"
        r"|\b(?:cf_chl_opt|_cf_chl_|px-captcha|_Incapsula_Resource|distil_r_captcha)"
        r"|/sorry/index\?|/errors/validateCaptcha|anomaly-modal|bm-verify=|awswaf\.com/.{0,80}challenge",
    ),
    ("a call for JavaScript", r"/httpservice/retry/enablejs|<title>Just a moment\.\.\.</title>"),
    (
        "a consent page",
        r"<form[^<>]{0,200}\baction=[\"']?https://consent\.(?:google|youtube|yahoo)\."
        r"|https://consent\.(?:google|youtube)\.com/save|guce\.(?:yahoo|advertising|oath)\.com/consent",
    ),
)
#: Patterns of the title, or of a line at the beginning, of a page with hardly any other text.
_NOTICE_PATTERNS = (
    (
        "a captcha",
        r"(?:verify|confirm|prove)(?: that)? you(?: are|'re|’re) (?:a )?(?:not a robot|human)"
        r"|are you (?:a )?(?:robot|human)\b|our systems have detected unusual traffic"
        r"|attention required! \| cloudflare"
        r"|checking (?:if the site connection is secure|your browser)"
        r"|security check(?:point)?$|robot check|bot (?:check|verification)|human verification"
        r"|pardon our interruption|complete the security check|enter the characters you see"
        r"|your user agent .{0,80}has been identified as|automated (?:access|requests)"
        r"|bestätigen sie,? dass sie (?:kein (?:roboter|bot)|ein mensch)|sicherheitsüberprüfung"
        r"|sind sie ein mensch|(?:confirmez|vérifiez|prouvez) que vous (?:n.êtes pas un robot|êtes)"
        r"|êtes-vous un (?:robot|humain)|vérification de sécurité"
        r"|(?:confirma|verifica|demuestra) que (?:no )?eres (?:un robot|humano)|¿eres un robot"
        r"|(?:conferma|verifica|dimostra) (?:che non sei|di non essere) un robot|sei un robot"
        r"|(?:confirme|verifique|prove) que (?:você )?não é um robô|você é um robô"
        r"|(?:bevestig|bewijs) dat (?:u|je) (?:geen robot|een mens)|ben (?:u|je) een robot"
        r"|potwierdź,? że nie jesteś robotem|подтвердите,? что (?:вы не робот|запросы отправляли)"
        r"|вы не робот|私はロボットではありません|ロボットではないこと|请(?:完成)?安全验证|人机验证"
        r"|请?确认(?:您|你)不是机器人",
    ),
    (
        "a refusal",
        r"access (?:to this page has been )?denied|you have been blocked|request blocked"
        r"|zugriff verweigert|accès (?:refusé|interdit)|acceso denegado|accesso negato"
        r"|acesso negado|toegang geweigerd|odmowa dostępu|доступ (?:запрещ[её]н|ограничен)"
        r"|アクセスが拒否|访问被(?:拒绝|阻断)|拒绝访问",
    ),
    (
        "a call for JavaScript",
        r"(?:enable|turn on|activate) javascript|javascript is (?:disabled|required|not )"
        r"|(?:you need to|requires|must) (?:enable |have )?javascript|enable cookies"
        r"|(?:bitte )?(?:aktivieren sie|aktiviere) (?:bitte )?javascript"
        r"|javascript (?:ist deaktiviert|muss aktiviert)"
        r"|(?:veuillez )?activer? javascript|javascript (?:est|doit être) (?:dés)?activé"
        r"|(?:por favor,? )?(?:activa|active|habilita|habilite|ative) (?:el |o )?javascript"
        r"|(?:abilita|attiva) (?:il )?javascript|(?:schakel|zet) javascript|włącz javascript"
        r"|включите javascript|javascript ?を有効|请(?:启用|开启) ?javascript",
    ),
    (
        "a consent page",
        r"before you continue to|we (?:value|care about) your privacy|your privacy choices$"
        r"|bevor sie (?:zu|fortfahren)|avant d.accéder à"
        r"|we (?:use|and our) (?:\d+ )?(?:partners?|cookies to)|this (?:web)?site uses cookies"
        r"|wir und unsere (?:\d+ )?partner|wir (?:verwenden|nutzen) cookies|ihre privatsphäre"
        r"|(?:nous et nos (?:\d+ )?partenaires|nous respectons votre vie privée|ce site utilise des"
        r" cookies)|(?:nosotros y nuestros (?:\d+ )?socios|valoramos tu privacidad|este sitio"
        r" (?:web )?utiliza cookies)|(?:noi e i nostri (?:\d+ )?partner|la tua privacy|questo sito"
        r" utilizza i? ?cookie)|(?:nós e os nossos (?:\d+ )?parceiros|valorizamos a sua privacidade"
        r"|este site (?:usa|utiliza) cookies)|wij en onze (?:\d+ )?partners|(?:wij|we) gebruiken"
        r" cookies|(?:my i nasi partnerzy|szanujemy twoją prywatność)|(?:мы и наши партн[её]ры"
        r"|мы используем (?:файлы )?cookie)|(?:当社|私たち)(?:と|および)パートナー"
        r"|(?:当サイト|このサイト)"
        r"では.{0,10}(?:cookie|クッキー)|我们和我们的合作伙伴|本网站使用 ?cookie",
    ),
    (
        "an age gate",
        r"(?:please )?(?:confirm|verify) (?:that )?(?:your age|you are (?:over|at least|of legal))"
        r"|are you (?:over|at least) (?:1[68]|21)|you must be (?:at least |over )?(?:18|21)"
        r"|age verification|(?:bitte )?bestätigen sie ihr alter|altersprüfung"
        r"|sind sie (?:über|mindestens) 1[68]"
        r"|(?:avez-vous (?:plus de )?1[68]|êtes-vous majeur|vérification de l.âge)"
        r"|(?:eres mayor de (?:edad|18)|¿eres mayor|verificación de edad)"
        r"|(?:hai più di 18|sei maggiorenne|verifica dell.età)"
        r"|(?:você tem mais de 18|verificação de idade)"
        r"|(?:ben je (?:ouder dan )?18|leeftijdscontrole)|czy masz (?:ukończone )?18"
        r"|вам (?:уже )?(?:есть|исполнилось) 18|(?:あなたは)?18歳以上|年齢確認"
        r"|(?:您|你)(?:是否)?已?年?满 ?18",
    ),
    ("a login page", r"(?:please )?(?:log|sign) ?in (?:to|or|·|\|)|(?:log|sign) ?in$|login\b"),
)
#: The notice of a page that is not there, though its status says that it is.
NOT_FOUND = (
    r"(?:error )?404\b|(?:the |this )?page (?:(?:was |could )?not (?:be )?found|(?:you .{0,40})?"
    r"(?:does not|doesn.t|no longer) exists?)|(?:sorry,? )?we can.?t find (?:the|that|this) page"
    r"|(?:diese )?seite (?:wurde )?nicht gefunden|(?:cette )?page (?:introuvable|non trouvée)"
    r"|página no encontrada|pagina non trovata|página não encontrada|pagina niet gevonden"
    r"|(?:nie znaleziono strony|strona nie (?:została )?znaleziona)|страница не найдена"
    r"|ページが見つかりません|お探しのページ|(?:页面|頁面)(?:不存在|未找到)|找不到(?:该|此)?页面"
)
#: A page that only a script fills: a notice for those without, or an empty place for the content.
_SCRIPTED = re.compile(
    r"<noscript\b[^<>]*>(?:(?!</noscript).){0,2000}javascript"
    r"|<div\b[^<>]{0,200}\bid=[\"']?(?:root|app|__next|__nuxt)\b[^<>]*>\s*</div>",
    re.IGNORECASE | re.DOTALL,
)
_PASSWORD_FIELD = re.compile(r"<input[^<>]{0,300}type=[\"']?password", re.IGNORECASE)
#: Words that may precede a notice.
_COURTESY = r"(?:(?:please|sorry|error|oops|to continue|we need to)[\s,:!.]+)*"


def detect_wall(body: bytes, title: str, text: str) -> str | None:
    """What kind of wall an HTML page is, in words; None for a page with content."""
    if len(text) > MAX_WALL_CHARS:
        return None
    html = body[:SEARCHED_BYTES].decode("utf-8", "replace")
    for name, pattern in _MARKUP_PATTERNS:
        if re.search(pattern, html, re.IGNORECASE):
            return name
    if not text and _SCRIPTED.search(html):
        return "a call for JavaScript"
    for name, pattern in _NOTICE_PATTERNS if len(text) <= MAX_NOTICE_CHARS else ():
        if _begins_with(pattern, title, text) and (
            name != "a login page" or _PASSWORD_FIELD.search(html)
        ):
            return name
    return None


def is_soft_404(title: str, text: str) -> bool:
    """Whether a page says that there is none, and hardly anything else."""
    return len(text) <= MAX_NOTICE_CHARS and _begins_with(NOT_FOUND, title, text)


def _begins_with(pattern: str, title: str, text: str) -> bool:
    """Whether the title, or a line near the beginning of the text, begins with a pattern.

    In the middle of a sentence the same words are those of an article about walls.
    """
    start = re.compile(rf"^{_COURTESY}(?:{pattern})", re.IGNORECASE | re.MULTILINE)
    return bool(start.search(title.strip()) or start.search(text[:300]))
