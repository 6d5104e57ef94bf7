"""index.html, driven in a real Chromium: what a reader does with it, and what hostile texts cannot do in it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from calibrate.intervals import Intervals
from calibrate.labels import FromStudy, collect
from calibrate.material import gather
from calibrate.metrics import build
from calibrate.pairs import Terms
from calibrate.report.page import write_page
from generate.journal import Failure, text_hash
from generate.labels import Span
from judge.adjudication import Adjudication
from judge.taxonomy import Tag, Taxonomy
from judge.verdicts import Fallacy, Vote
from tests.calibrate.browser import browser
from tests.calibrate.conftest import Maker
from tests.calibrate.test_report import SETTINGS

TAGS = ["Proof by Example", "Calculation Mistake"]
TAXONOMY = Taxonomy(name="two", fallacies=[Tag(name=t, definition="d", recognise="r", not_this="n") for t in TAGS])
MARKED = "Let 𝔸 be. We claim $x^2 + 1 > 0$ for\nall \\(x\\), so\n\n\\[ \\sum_{k=1}^n k = \\frac{n(n+1)}{2} \\]\n\nand \\boxed{7}."
HOSTILE = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1> <a href='javascript:window.pwned=1'>x</a>"
    " --> ]]> <svg onload=window.pwned=1><script>window.pwned=1</script></svg> <math><mtext><style>*{display:none}</style>"
    "<img src=http://127.0.0.1:9/x onerror=window.pwned=1></mtext></math> $\\text{<img src=x onerror=window.pwned=1>}$ "
    "\\(\\href{javascript:window.pwned=1}{x} \\style{position:fixed;inset:0}{y} \\class{facts}{z}\\) \u202eevil\u202c \u200bzero"
)


def write_report(make: Maker, most: int = 5000) -> dict[str, Any]:
    """What `python -m calibrate` does after its config is read; returns the metrics."""
    labels = collect(make.study, [], FromStudy(), TAXONOMY)
    material = gather(make.study, labels, TAXONOMY, None)
    metrics: dict[str, Any] = {"report": "r", "inputs": "h", "settings": SETTINGS}
    metrics |= build(material, Terms(tuple(TAGS)), Intervals(0, 200))
    metrics = json.loads(json.dumps(metrics))
    write_page(make.root / "r", make.study, labels.counting, Adjudication(), TAXONOMY, metrics, most)
    return metrics


VERDICTS = ["incorrect", "partially_correct", "correct"]


def ordinary(make: Maker, n: int = 60) -> None:
    for i in range(n):
        if i % 2 == 0:
            make.problem(f"p{i // 2}", statement=f"Find $x$ of number {i}.", answer="7" if i % 4 else None,
                         topic=["Algebra", "Geometry"][i % 4 // 2], reference_solution="See $y^2$.", rubric="Be fair.")  # fmt: skip
        text = MARKED if i == 5 else f"A solution $a_{{{i}}}$ of it."
        make.solution(
            f"s{i:02}", f"p{i // 2}", text, model=f"model-{i % 3}", finish_reason="length" if i == 7 else "stop"
        )
        human = VERDICTS[i % 3]
        spans = None
        if i == 5:
            at = MARKED.index("We claim")
            spans = [Span(start=at, end=MARKED.index("for\nall"), tag=TAGS[0], comment="Why is $x$ real?")]
        make.label(f"s{i:02}", human, points=float(i % 3), max_points=2.0, fallacies=TAGS[: i % 3 % 2], spans=spans,
                   comment="A comment.")  # fmt: skip
        for judge in ("first", "second"):
            said = human if (i + len(judge)) % 4 else VERDICTS[(i + 1) % 3]
            if judge == "second" and i == 9:
                make.verdict(f"s{i:02}", None, judge, error=Failure(kind="unparsed", message="no JSON", raw="??"),
                             votes=[Vote(raw="??")])  # fmt: skip
                continue
            make.verdict(f"s{i:02}", said, judge, points=float(VERDICTS.index(said)), max_points=2.0,
                         probabilities={v: 0.5 + i % 5 / 12 if v == said else 0.25 - i % 5 / 24 for v in VERDICTS},
                         reasoning="Since $n>1$ it holds.", votes=[Vote(verdict=said, raw="the raw reply"),
                               *([Vote(verdict=said, raw='{"reasoning": "the second vote, $z^2$"}')] if i == 6 else [])])  # fmt: skip
    start = MARKED.index("2 + 1 > 0")
    end = MARKED.index("all")
    quotes = [
        Fallacy(tag=TAGS[0], quote=MARKED[start:end], start=start, end=end, explanation="It is $1$."),
        Fallacy(tag=TAGS[1], quote="made up"),
    ]
    make.verdict(
        "s05", "correct", "first", reasoning="Since", text_hash=text_hash(MARKED), votes=[Vote(verdict="correct")]
    )
    with make.study.journal("verdicts", "first", type(_newest(make, "first"))) as journal:
        journal.append(_newest(make, "first").model_copy(update={"key": "new", "fallacies": quotes}))
    for i in range(n):
        if i % 4 and i // 2 % 2:
            make.answer(f"s{i:02}", "equal" if i % 3 else "different")


def _newest(make: Maker, judge: str) -> Any:
    from judge.verdicts import Verdict

    return [v for v in make.study.every("verdicts", Verdict) if v.judge == judge and v.solution_id == "s05"][-1]


def hostile(make: Maker) -> None:
    """Every field that comes from outside holds the hostile text."""
    make.problem(HOSTILE, statement=HOSTILE, answer=HOSTILE, topic=HOSTILE, reference_solution=HOSTILE, rubric=HOSTILE)
    for i in range(12):
        name = f"{HOSTILE}{i}"
        make.solution(name, HOSTILE, HOSTILE, model=HOSTILE + str(i % 2))
        make.label(name, VERDICTS[i % 3], HOSTILE, fallacies=[TAGS[0]], comment=HOSTILE,
                   spans=[Span(start=0, end=40, tag=HOSTILE, comment=HOSTILE)])  # fmt: skip
        make.verdict(name, VERDICTS[i % 2], HOSTILE, reasoning=HOSTILE, first_wrong_step=HOSTILE, items=[{HOSTILE: HOSTILE}],
                     votes=[Vote(verdict="correct", raw=HOSTILE, error=Failure(kind=HOSTILE, message=HOSTILE))])  # fmt: skip
        with make.study.journal("verdicts", HOSTILE, type(_of(make))) as journal:
            fallacy = Fallacy(tag=HOSTILE, quote=HOSTILE, start=10, end=60, explanation=HOSTILE)
            journal.append(
                _of(make).model_copy(
                    update={"key": f"k{i}", "fallacies": [fallacy], "apart": [fallacy], "doubts": [{HOSTILE: HOSTILE}]}
                )
            )
        make.answer(name, "different", extracted=HOSTILE, reason=HOSTILE, method=HOSTILE, start=5, end=20)


def _of(make: Maker) -> Any:
    from judge.verdicts import Verdict

    return list(make.study.every("verdicts", Verdict))[-1]


class Opened:
    """One page in the browser, and all that went wrong in it."""

    def __init__(self, context: Any, url: str):
        self.page = context.new_page()
        self.trouble: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.trouble.append(f"console {m.type}: {m.text}"))
        self.page.on("pageerror", lambda e: self.trouble.append(f"error: {e}"))
        self.page.on("dialog", lambda d: (self.trouble.append("dialog"), d.dismiss()))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.set_default_timeout(20_000)
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def count(self) -> int:
        return int(self.page.locator("#count").inner_text().split()[0])

    def first(self) -> str:
        found: str = self.page.locator("#list tbody th a").first.inner_text()
        return found

    def address(self) -> str:
        found: str = self.page.url.split("#")[1] if "#" in self.page.url else ""
        return found

    def check(self) -> None:
        assert self.trouble == []
        assert len([r for r in self.requests if not r.startswith("file:")]) == 0
        assert self.page.evaluate("window.pwned") is None


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], Path]:
    make = Maker(tmp_path_factory.mktemp("ordinary"))
    ordinary(make)
    metrics = write_report(make)
    file = make.root / "r" / "index.html"
    return file.as_uri(), metrics, file


@pytest.fixture(scope="module")
def hostile_made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], Path]:
    make = Maker(tmp_path_factory.mktemp("hostile"))
    hostile(make)
    metrics = write_report(make)
    file = make.root / "r" / "index.html"
    return file.as_uri(), metrics, file


@pytest.fixture
def opened(chrome: Any, made: tuple[str, dict[str, Any], Path]) -> Iterator[Opened]:
    context = chrome.new_context(viewport={"width": 1280, "height": 900})
    found = Opened(context, made[0])
    yield found
    found.check()
    context.close()


# --- the table --------------------------------------------------------------------------------------------------------


def test_filters_search_and_sorting_change_the_table_and_the_address(opened: Opened) -> None:
    assert opened.count() == 60
    opened.page.select_option("#f-model", "model-1")
    assert opened.count() == 20 and opened.address() == "judge=first&model=model-1"
    opened.page.select_option("#f-human", "correct")
    assert opened.count() == 0
    opened.page.get_by_role("button", name="Clear filters").click()
    opened.page.fill("#f-q", "number 48.")
    assert opened.count() == 2 and "q=number" in opened.address()
    opened.page.fill("#f-q", "")
    opened.page.get_by_role("button", name="Solution", exact=True).click()
    assert opened.first() == "s00"
    opened.page.get_by_role("button", name="Solution", exact=True).click()
    assert opened.first() == "s59" and "sort=-id" in opened.address()
    assert opened.page.locator("th.c-id").first.get_attribute("aria-sort") == "descending"


def test_disagreements_come_first_and_alone_when_asked_for(opened: Opened, made: Any) -> None:
    agreement = made[1]["judges"]["first"]["agreement"]["verdict"]["accuracy"]
    differing = round((1 - agreement["value"]) * agreement["n"])
    assert (
        opened.page.locator("#list tbody tr.differs").first.inner_text()
        == opened.page.locator("#list tbody tr:not(.space)").first.inner_text()
    )
    opened.page.check("#f-differ")
    assert opened.count() == differing > 0


def test_a_link_to_a_view_shows_that_view(chrome: Any, made: Any) -> None:
    context = chrome.new_context()
    found = Opened(context, made[0] + "#judge=second&topic=Algebra&says=failed&sort=-id")
    assert found.page.input_value("#f-topic") == "Algebra" and found.page.input_value("#judge") == "1"
    rows = [found.page.locator("#list tbody th a").nth(i).inner_text() for i in range(found.count())]
    assert rows == ["s09"]
    found.check()
    context.close()


def test_only_rows_in_view_are_in_the_document(opened: Opened) -> None:
    opened.page.set_viewport_size({"width": 1280, "height": 400})
    assert 0 < opened.page.locator("#list tbody tr:not(.space)").count() < 50
    opened.page.evaluate("document.getElementById('list').scrollTop = 1e6")
    opened.page.locator('#list a[data-at="59"]').wait_for()
    assert opened.page.locator("#list tbody tr:not(.space)").count() < 50


# --- a row ------------------------------------------------------------------------------------------------------------


def test_a_row_shows_problem_mathematics_labels_reasoning_and_the_raw_reply_on_demand(opened: Opened) -> None:
    opened.page.fill("#f-q", "s05")
    opened.page.locator("#list tbody th a").first.click()
    row = opened.page.locator("#row")
    row.locator("h2").wait_for()
    assert opened.page.evaluate("document.activeElement.tagName") == "H2"
    namespace = "document.querySelector('#solution-text math').namespaceURI"
    assert opened.page.evaluate(namespace) == "http://www.w3.org/1998/Math/MathML"
    assert (
        row.locator("#solution-text math").count() == 3
        and row.locator('#solution-text math[display="block"]').count() == 1
    )
    assert row.locator("#solution-text mfrac").count() == 1
    text = row.inner_text()
    for wanted in ("Since", "A comment.", "made up", "does not stand in the solution", "Rubric"):
        assert wanted in text
    opened.page.goto(opened.page.url.split("#")[0] + "#judge=second&row=s06")
    row.get_by_text("Raw reply").first.click()
    row.get_by_text("the raw reply").wait_for()
    row.locator("summary", has_text="Reasoning").click()  # of the second vote, out of its reply
    row.get_by_text("the second vote").wait_for()


def marked(opened: Opened, label: str) -> str:
    """The characters that a mark covers, its labels left out."""
    script = """label => [...document.querySelectorAll('#solution-text mark')]
        .filter(m => m.dataset.marks.split(' ').includes(label))
        .map(m => { const c = m.cloneNode(true); c.querySelectorAll('sup').forEach(s => s.remove()); return c.textContent; }).join('')"""
    found: str = opened.page.evaluate(script, label)
    return found


def test_marks_stand_at_the_right_characters_also_across_formulas(opened: Opened) -> None:
    opened.page.goto(opened.page.url.split("#")[0] + "#judge=first&row=s05")
    opened.page.locator("#solution-text").wait_for()
    set_text = marked(opened, "J1")
    assert set_text.startswith("x2+1>0") and set_text.endswith(" for\n")  # a formula that is cut is marked as a whole
    assert marked(opened, "H1").startswith("We claim ")
    opened.page.get_by_role("button", name="TeX source").click()
    assert marked(opened, "J1") == MARKED[MARKED.index("2 + 1 > 0") : MARKED.index("all")]
    assert marked(opened, "H1") == MARKED[MARKED.index("We claim") : MARKED.index("for\nall")]
    whole = """() => { const c = document.getElementById('solution-text').cloneNode(true);
        c.querySelectorAll('sup').forEach(s => s.remove()); return c.textContent; }"""
    assert opened.page.evaluate(whole) == MARKED
    styles = opened.page.evaluate(
        """() => ['judge', 'human'].map(k => { const s = getComputedStyle(document.querySelector('mark.' + k));
        return [s.borderTopStyle, s.borderBottomStyle]; })"""
    )
    assert styles[0] != styles[1]  # not by colour alone; and each has its label
    assert {"J1", "H1"} <= set(opened.page.locator("#solution-text sup").all_inner_texts())


def test_the_keyboard_alone_is_enough(opened: Opened) -> None:
    page = opened.page
    page.locator("#list tbody th a").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.at") == "1"
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.at") == "59"
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.locator("#row h2").wait_for()
    first = page.locator("#row h2").inner_text()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("t => document.querySelector('#row h2').textContent !== t", arg=first)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("t => document.querySelector('#row h2').textContent === t", arg=first)
    page.keyboard.press("Escape")
    page.locator("#list").wait_for()
    assert page.evaluate("document.activeElement.dataset.at") == "0"


def test_each_warning_can_be_looked_through(opened: Opened) -> None:
    opened.page.select_option("#f-concern", "cut off")
    assert opened.count() == 1 and opened.first() == "s07"
    opened.page.select_option("#f-concern", "ungrounded quote")
    assert opened.count() == 1 and opened.first() == "s05"


# --- figures ----------------------------------------------------------------------------------------------------------


def resolve(metrics: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        metrics = metrics[int(step)] if isinstance(metrics, list) else metrics[step]
    return metrics


def test_the_page_and_metrics_json_never_disagree(opened: Opened, made: Any) -> None:
    metrics = made[1]
    script = "[...document.querySelectorAll('[data-figure]')].map(e => [e.dataset.figure, e.dataset.as || '', e.textContent])"
    found = opened.page.evaluate(script)
    assert len(found) > 100
    for pointer, kind, text in found:
        value = resolve(metrics, pointer)
        value = value["value"] if isinstance(value, dict) else value
        wanted = "-" if value is None else f"{value * 100:.1f}%" if kind == "percent" else f"{value:.3f}"
        assert text == (str(value) if isinstance(value, int) else wanted), pointer


def test_the_table_and_metrics_json_never_disagree(opened: Opened, made: Any) -> None:
    for judge, block in made[1]["judges"].items():
        opened.page.select_option("#judge", label=judge)
        said = block["agreement"]["verdict"]
        for i, human in enumerate(said["labels"]):
            for k, word in enumerate(said["labels"]):
                opened.page.select_option("#f-human", human.replace("_", " "))
                opened.page.select_option("#f-says", word.replace("_", " "))
                assert opened.count() == said["confusion"][i][k]
        opened.page.get_by_role("button", name="Clear filters").click()
        if block["coverage"]["errors"]:
            opened.page.select_option("#f-says", "failed")
            assert opened.count() == sum(block["coverage"]["errors"].values())
            opened.page.get_by_role("button", name="Clear filters").click()
    right = made[1]["final_answers"]["overall"]["counts"]["right"]
    opened.page.select_option("#f-answer", "right")
    assert opened.count() == right


def test_one_judge_is_shown_at_a_time_and_all_are_compared(opened: Opened) -> None:
    visible = opened.page.locator("section[data-judge]:visible h2")
    assert all("first" in t for t in visible.all_inner_texts())
    opened.page.select_option("#judge", label="second")
    assert visible.count() and all("second" in t for t in visible.all_inner_texts())
    compared = opened.page.get_by_role("table", name="Judges against the human labels", exact=True).first
    assert compared.locator("tbody th").all_inner_texts() == ["first", "second", "(constant)"]
    gold, estimate = opened.page.locator("table.gold:visible"), opened.page.locator("table.estimate:visible")
    assert gold.count() == 1 and estimate.count() == 1
    assert "ESTIMATE" in opened.page.locator(".estimates section:visible").inner_text()


def test_figures_are_also_files_of_their_own(made: Any) -> None:
    from xml.etree import ElementTree

    files = sorted((made[2].parent / "figures").glob("*.svg"))
    assert {f.stem.split("-", 2)[2] for f in files} >= {
        "confusion",
        "fallacy-f1",
        "points",
        "verdict-shares",
        "reliability",
        "risk-coverage",
        "frequencies-topic",
    }
    for file in files:
        root = ElementTree.fromstring(file.read_text())
        assert (
            root.tag == "{http://www.w3.org/2000/svg}svg" and root.find("{http://www.w3.org/2000/svg}desc") is not None
        )


# --- hostile texts ----------------------------------------------------------------------------------------------------


def test_hostile_texts_stay_texts(chrome: Any, hostile_made: Any) -> None:
    context = chrome.new_context()
    found = Opened(context, hostile_made[0])
    page = found.page
    scripts = page.locator("script").count()
    assert scripts == page.locator('script[type="application/octet-stream"]').count() + 1
    page.locator("#list tbody th a").first.click()
    page.locator("#row h2").wait_for()
    for summary in page.locator("#row summary").all():
        summary.click()
    page.locator("#row pre").first.wait_for()
    odd = """() => [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on/i.test(a.name) || a.name === 'style' && !e.closest('.space')
        || /javascript:/i.test(a.value) && ['href', 'src', 'xlink:href', 'action'].includes(a.name))
        || ['IMG', 'IFRAME', 'OBJECT', 'EMBED', 'BASE', 'FORM-X'].includes(e.tagName)).map(e => e.outerHTML.slice(0, 200))"""
    assert page.evaluate(odd) == []
    assert page.locator("#row script, #row style, #row img, main script").count() == 0
    assert "<script>window.pwned=1</script>" in page.locator("#solution-text").inner_text()
    assert page.locator("#solution-text .unseen").count() >= 3  # what turns text round, or cannot be seen, is shown
    assert page.title().startswith("Report on study")
    found.check()
    context.close()


def test_the_policy_lets_no_other_script_run_and_nothing_load(chrome: Any, made: Any) -> None:
    context = chrome.new_context()
    found = Opened(context, made[0])
    tried = """() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 1'; document.body.append(s);
        const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i);
        document.body.insertAdjacentHTML('beforeend', '<b onclick="window.pwned=1" id=b>b</b>'); document.getElementById('b').click(); }"""
    with found.page.expect_event("requestfailed") as blocked:
        found.page.evaluate(tried)
    assert blocked.value.failure == "csp"
    assert found.page.evaluate("window.pwned") is None
    assert sum("Content Security Policy" in t for t in found.trouble) >= 3
    context.close()


# --- for everyone -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(chrome: Any, made: Any, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = chrome.new_context(color_scheme=scheme)
    found = Opened(context, made[0])
    found.page.locator("#all-figures summary").click()
    for view in ("", "#judge=first&row=s05"):
        found.page.goto(made[0] + view)
        found.page.wait_for_selector("#row h2" if view else "#list", state="visible")
        result = Axe().run(found.page)
        serious = [
            (v["id"], [n["html"][:200] for n in v["nodes"]])
            for v in result.response["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []
    context.close()


@pytest.mark.parametrize(("width", "scale"), [(400, 1), (640, 2)])  # a phone; a window of 1280 at 200% zoom
def test_narrow_windows_need_no_sideways_scrolling(chrome: Any, made: Any, width: int, scale: int) -> None:
    context = chrome.new_context(viewport={"width": width, "height": 700}, device_scale_factor=scale)
    found = Opened(context, made[0])
    for view in ("", "#judge=first&row=s05"):
        found.page.goto(made[0] + view)
        found.page.wait_for_selector("#row h2" if view else "#list", state="visible")
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width
        if not view:  # the columns that are left take the whole of the table
            last = found.page.locator("#list tbody tr:not(.space) > :visible").nth(3).bounding_box()
            assert width > 400 or last["x"] + last["width"] > 0.9 * width
    context.close()


def test_print_shows_more_rows_than_are_in_view_and_no_controls(opened: Opened) -> None:
    opened.page.emulate_media(media="print")
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("#list tbody tr:not(.space)").count() == 60
    assert not opened.page.locator(".filters").is_visible()
    assert len(opened.page.pdf()) > 10_000


def test_without_a_script_the_figures_can_be_read(chrome: Any, made: Any) -> None:
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(made[0])
    assert page.locator("table.gold").is_visible() and page.locator("figure svg").first.is_visible()
    assert "needs JavaScript" in page.locator("noscript").inner_text()
    context.close()


# --- the file ---------------------------------------------------------------------------------------------------------


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    make = Maker(tmp_path)
    ordinary(make, 10)
    write_report(make)
    before = {f.name: f.read_bytes() for f in (make.root / "r").rglob("*") if f.is_file()}
    write_report(make)
    assert before == {f.name: f.read_bytes() for f in (make.root / "r").rglob("*") if f.is_file()}


def test_a_study_too_large_for_the_page_shows_disagreements_first_and_says_so(chrome: Any, tmp_path: Path) -> None:
    make = Maker(tmp_path)
    ordinary(make)
    write_report(make, most=10)
    context = chrome.new_context()
    found = Opened(context, (make.root / "r" / "index.html").as_uri())
    assert found.count() == 10 and "10 of 60 solutions" in found.page.locator("#table .note").inner_text()
    differing = set()
    for judge in ("first", "second"):
        found.page.select_option("#judge", label=judge)
        differing |= set(found.page.locator("#list tbody tr.differs th").all_inner_texts())
    assert len(differing) == 10
    found.check()
    context.close()


def test_the_address_of_a_solution_that_is_not_there_says_so(chrome: Any, made: Any) -> None:
    context = chrome.new_context()
    found = Opened(context, made[0] + "#row=" + quote("<img src=x>"))
    assert "There is no solution '<img src=x>'" in found.page.locator("#row h2").inner_text()
    found.check()
    context.close()


def test_no_text_of_the_study_stands_in_the_file_as_markup(hostile_made: Any) -> None:
    page = hostile_made[2].read_text()
    assert "window.pwned=1</script>" not in page and "<img" not in page
    assert re.findall(r"<script(?! type=\"application/octet-stream\" id=\"[a-z0-9-]+\">|>\"use strict\")", page) == []
