"""The page in a real browser: each view by mouse and keyboard, in light and dark, on a phone, for a screen reader."""

import csv
import re
import shutil
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from knowwhen.serve.guard import Rules
from knowwhen.serve.service import Service

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
PATIENCE = 60_000  # milliseconds: a busy machine is many times slower
expect.set_options(timeout=PATIENCE)

AXE = Path(__file__).parent / "axe" / "axe.min.js"
HELD = {"subject": "office 3", "predicate": "held by", "object": "?", "time": "2001"}
VIEWS = {
    "start": "/",
    "ask": f"/ask?{urlencode(HELD)}",
    "holds": f"/ask?{urlencode(HELD | {'object': 'person 3 1'})}",
    "when": f"/when?{urlencode({'subject': 'office 3', 'predicate': 'held by', 'object': 'person 3 2'})}",
    "entity": f"/entity?{urlencode({'key': 'office 3', 'time': '2000'})}",
    "compare": f"/compare?{urlencode({'subject': 'office 3', 'predicate': 'held by'})}",
    "model": "/model",
    "unknown": f"/ask?{urlencode(HELD | {'subject': 'offcie 3'})}",
}
SHOWN = {  # what tells that a view is drawn
    "start": ".starters a",
    "ask": ".answer",
    "holds": ".verdict",
    "when": ".canvas svg .curve",
    "entity": ".asof h2",
    "compare": ".canvas svg .line",
    "model": ".canvas svg .bin",
    "unknown": ".problem",
}


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with playwright.sync_playwright() as play:
        try:
            started = play.chromium.launch(
                executable_path=found, timeout=PATIENCE, args=["--no-sandbox", "--disable-gpu"]
            )
        except playwright.Error as error:
            pytest.skip(f"no browser to test the page with, install chromium: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture(scope="module")
def server(model, serving):
    with serving(Service({"offices": model})) as client:
        yield client


@pytest.fixture
def opened(browser, server):
    """Opens pages; at the end none has logged an error, or asked another host."""
    contexts, wrong = [], []
    home = f"http://{server.host}:{server.port}"

    def watch(page):
        page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
        page.on(
            "console", lambda line: line.type in ("error", "warning") and wrong.append(f"{line.text} {line.location}")
        )
        page.on(
            "request", lambda request: request.url.startswith((home, "blob:", "data:")) or wrong.append(request.url)
        )
        page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))

    def open(path, base=home, **options):
        context = browser.new_context(
            base_url=base, viewport={"width": 1100, "height": 800}, **({"reduced_motion": "reduce"} | options)
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        watch(page)
        page.goto(path)
        return page

    open.wrong, open.home = wrong, home
    yield open
    for context in contexts:
        context.close()
    assert not wrong


def parameters_of(url):
    return {name: values[0] if len(values) == 1 else values for name, values in parse_qs(urlsplit(url).query).items()}


def parameters(page):
    return parameters_of(page.url)


def field(page, name):
    return page.get_by_role("combobox", name=name)


def percent(share):
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def names(page):
    return page.locator(".answer .name").all_inner_texts()


def answered(page, **question):
    """Waits until what is shown is the answer to what the address asks."""
    page.wait_for_url(lambda url: parameters_of(url).items() >= question.items())
    expect(page.locator(".results")).to_have_attribute("aria-busy", "false")
    expect(page.locator(".answer")).not_to_have_count(0)


def until(page, holds):
    """Lets the browser's events in until something holds."""
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        page.wait_for_timeout(10)


def told(server, **question):
    return server.get("/api/ask", **question)[1]["answers"]


def turn(page, path):
    """Opens a view as a link of the page would."""
    page.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path)


def turned(page):
    """Each view in turn."""
    for view, path in VIEWS.items():
        turn(page, path)
        page.locator(SHOWN[view]).first.wait_for()
        yield view


def test_ask_by_keyboard(opened, server):
    page = opened("/")
    page.locator(".starters a").first.wait_for()
    field(page, "subject").focus()
    page.keyboard.type("office 3")
    expect(page.get_by_role("option").nth(1)).to_contain_text("office 3")
    page.keyboard.press("ArrowDown")  # to ?, which is always offered first
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field(page, "subject")).to_have_value("office 3")
    page.keyboard.press("Tab")
    page.keyboard.type("held by")
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_have_count(0)
    page.keyboard.press("Tab")
    page.keyboard.type("?")
    page.keyboard.press("Tab")
    page.keyboard.type("2001")
    page.keyboard.press("Enter")
    expected = told(server, **HELD)
    expect(page.locator(".answers.known .name")).to_have_text([one["name"] for one in expected if one["known"]])
    assert sorted(names(page)) == sorted(one["name"] for one in expected)
    assert parameters(page) == HELD
    expect(page.locator("#said")).to_contain_text("answers; first")


def test_ask_by_mouse_and_why(opened, server):
    page = opened("/ask")
    for name, typed, choice in (
        ("subject", "ofise 5", "office 5"),
        ("predicate", "held", "held by"),
        ("object", "", "?"),
    ):
        field(page, name).click()
        field(page, name).fill(typed)
        page.get_by_role("option").filter(has=page.get_by_text(choice, exact=True)).click()
    page.get_by_role("radio", name="a date").check()
    page.get_by_role("textbox", name="time").fill("2001")
    page.get_by_role("button", name="Ask").click()
    answered(page, time="2001")  # those to the question without a date are replaced
    row = page.locator(".answers.known .answer").first
    name = row.locator(".name").inner_text()
    row.get_by_role("button", name="Why").click()
    expect(row.locator(".whypanel")).to_contain_text("What the data says about both")
    reasons = row.locator(".whypanel .reasons").first.get_by_role("link")
    expect(reasons.nth(2)).to_be_visible()  # both names and the dates of a fact
    row.locator(".whypanel").get_by_role("link", name=name).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    assert parameters(page)["key"] == name


def test_why_names_the_evidence_with_its_share(opened, server):
    page = opened(VIEWS["ask"])
    inferred = next(one for one in told(server, **HELD) if not one["known"])
    reasons = told(server, **HELD, explain=True, candidates=inferred["key"])[0]["reasons"]
    assert reasons["facts"], "the model of this test has evidence"
    row = page.locator(".answers.inferred .answer").first
    row.get_by_role("button", name="Why").click()
    listed = row.locator(".reasons").first.locator("li")
    expect(listed).to_have_count(min(12, len(reasons["facts"])))
    expect(listed.first).to_contain_text(f"{abs(reasons['facts'][0]['value']):.2f}")


def test_dragging_the_slider_updates_answers_and_cancels_what_is_outdated(opened, server):
    page = opened(VIEWS["ask"])
    page.locator(".answer").first.wait_for()
    failed, axis = [], server.get("/api/info")[1]["times"]
    at = axis.index(HELD["time"])
    page.on("requestfailed", lambda request: failed.append(request.url))
    outdated = re.compile(f"/api/ask.*time=({'|'.join(axis[at + 1 : at + 4])})")
    held = hold(page, outdated)
    slider = page.get_by_role("slider", name="Date")
    slider.focus()
    for count in range(1, 4):
        page.keyboard.press("ArrowRight")
        until(page, lambda count=count: len(held) == count)  # a request that is cancelled at once may never be routed
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("textbox", name="time")).to_have_value(axis[at + 4])
    expected = [one["name"] for one in told(server, **HELD | {"time": axis[at + 4]}) if one["known"]]
    expect(page.locator(".answers.known .name")).to_have_text(expected)
    assert parameters(page)["time"] == axis[at + 4]
    expect(page.locator(".results")).to_have_attribute("aria-busy", "false")
    until(page, lambda: len(failed) == len(held))  # the browser tells of cancelled requests a moment later
    assert failed == [route.request.url for route in held]
    page.unroute_all(behavior="ignoreErrors")
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 12, box["y"] + box["height"] / 2, steps=6)
    expect(page.get_by_role("textbox", name="time")).to_have_value(axis[0])
    page.mouse.up()


def fill_in(page, path):
    """Types what a view's address says."""
    for name, value in parse_qs(urlsplit(path).query).items():
        place = page.get_by_role("textbox" if name == "time" else "combobox", name=name, exact=True)
        place.fill(value[0])
        place.press("Tab")


def hold(page, url):
    """The requests that will be made to an address, which are not answered."""
    held = []
    page.route(url, lambda route: held.append(route))
    return held


def fulfill(page, route, **options):
    """Answers a request that was held, and waits until the page has read it."""
    with page.expect_event("requestfinished", lambda request: request.url == route.request.url):
        route.fulfill(**options)
    page.evaluate("new Promise(done => setTimeout(done, 20))")


@pytest.mark.parametrize("view", ["ask", "when", "compare"])
def test_examples_that_come_late_do_not_replace_what_was_asked_since(opened, view):
    page = opened("/model")
    held = hold(page, "**/api/names?limit=6")
    turn(page, f"/{view}")
    until(page, lambda: held)
    fill_in(page, VIEWS[view])
    page.locator(SHOWN[view]).first.wait_for()
    fulfill(page, held[0], json={"names": []})
    assert page.locator(SHOWN[view]).count() and not page.locator(".results > .state").count()


def test_a_question_that_is_given_up_leaves_nothing_busy(opened):
    page = opened(VIEWS["ask"])
    answered(page)
    held = hold(page, "**/api/ask*")
    page.get_by_role("slider", name="Date").press("ArrowRight")
    until(page, lambda: held)
    expect(page.locator(".results")).to_have_attribute("aria-busy", "true")
    field(page, "subject").fill("")
    field(page, "subject").press("Tab")
    expect(page.locator(".state")).to_contain_text("Fill in the subject")
    expect(page.locator(".results")).to_have_attribute("aria-busy", "false")


def test_what_comes_late_does_not_replace_the_view_that_was_opened_since(opened, server):
    page = opened("/model")
    held = hold(page, re.compile("/api/entity/|run=other"))
    for count, path in enumerate((VIEWS["entity"], "/ask?run=other"), 1):
        turn(page, path)
        until(page, lambda count=count: len(held) == count)
        turn(page, "/model")
    fulfill(page, held[0], json=server.get("/api/entity/office 3")[1])
    assert page.title() == "The model · knowwhen"
    fulfill(page, held[1], json={"detail": "no such run"}, status=400)
    assert page.locator(".modelpage").count() and not page.locator(".problem").count()
    opened.wrong[:] = [line for line in opened.wrong if "Failed to load resource" not in line]


def test_what_holds_at_a_date_is_not_shown_under_another(opened):
    page = opened(VIEWS["entity"])
    expect(page.get_by_role("heading", name="As of 2000")).to_be_visible()
    held = hold(page, "**/api/entity/*")
    page.get_by_role("slider", name="Date").press("ArrowRight")
    page.get_by_label("Show inferred facts from").fill("0.4")
    until(page, lambda: held)
    expect(page.locator(".asof h2")).to_have_text("As of 2000")
    page.unroute_all(behavior="ignoreErrors")
    page.get_by_role("slider", name="Date").press("ArrowRight")
    expect(page.locator(".asof h2")).to_have_text("As of 2002")


def test_kinds_of_time(opened, server):
    page = opened(VIEWS["ask"])
    page.get_by_role("radio", name="a range").check()
    typed = page.get_by_role("textbox", name="time")
    expect(typed).to_have_value(re.compile(r"2001\.\.\d{4}"))
    page.get_by_role("slider", name="From").focus()
    page.keyboard.press("ArrowLeft")
    axis = server.get("/api/info")[1]["times"]
    expect(typed).to_have_value(re.compile(rf"{axis[axis.index('2001') - 1]}\.\.\d{{4}}"))
    page.get_by_role("radio", name="any time").check()
    expect(typed).to_have_value("")
    page.get_by_role("radio", name="when?").check()  # one place is asked for: the object is to be filled in
    expect(field(page, "object")).to_have_value("")
    expect(page.locator(".state")).to_contain_text("Fill in the object")
    field(page, "object").fill("person 3 1")
    page.keyboard.press("Enter")
    expect(page.locator(".lead")).to_contain_text(re.compile(r"\d{4} to \d{4}"))
    typed.fill("2050")  # beyond the data: does it hold?
    page.keyboard.press("Enter")
    expect(page.locator(".verdict")).to_contain_text("after the last date in the data")


def test_when_shows_curve_ranges_and_survival(opened, server):
    fact = {"subject": "office 3", "predicate": "held by"}
    page = opened(VIEWS["when"])
    found = server.get("/api/when", **fact, object="person 3 2")[1]
    assert found["inferred"] == ["end"] and found["known"][0][1] is None
    expect(page.locator(".figure .whisker")).to_have_count(1)
    expect(page.locator(".ends")).to_contain_text(found["end_range"][1])
    page.get_by_label("infer them from other facts").check()
    expect(page.locator(".figure .whisker")).to_have_count(2)
    expect(page.get_by_role("heading", name="Facts behind these dates")).to_be_visible()
    assert parameters(page)["infer"] == "1"
    page.locator(".canvas svg").hover(position={"x": 300, "y": 60})
    expect(page.locator(".readtext")).to_contain_text("%")
    undated = {"subject": "office 0", "predicate": "held by", "object": "person 9 9"}
    page.goto(f"/when?{urlencode(undated)}")
    expect(page.locator(".figure .curve")).to_have_count(2)  # the second one past the data
    now, then = (server.get("/api/holds", **undated, time=year)[1]["probability"] for year in ("2015", "2016"))
    expect(page.locator(".survival")).to_contain_text(f"in 2016 is {percent(then / now)}")


def test_entity_timeline_threshold_and_as_of(opened, server):
    page = opened("/entity?key=office+3")
    facts = server.get("/api/entity/office 3")[1]["facts"]
    dated = [fact for fact in facts if fact["begin"] or fact["end"]]
    expect(page.locator(".lane .fact.known")).to_have_count(len(dated))
    expect(page.locator(".lane .fact.known.open-right")).to_have_count(sum(not fact["end"] for fact in dated))
    expect(page.locator(".lane .chip.known")).to_have_count(len(facts) - len(dated))
    expect(page.locator(".neighbours li")).not_to_have_count(0)
    threshold = page.get_by_label("Show inferred facts from")
    threshold.fill("0.01")
    inferred = page.locator(".lane .inferred")
    expect(inferred).not_to_have_count(0)
    many = inferred.count()
    threshold.fill("1")
    assert inferred.count() < many
    page.get_by_role("radio", name="a date").check()
    box = page.get_by_role("textbox", name="As of")
    box.fill("2000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="As of 2000")).to_be_visible()
    holding = [one["other"] for one in server.get("/api/entity/office 3", time="2000")[1]["facts"] if one["begin"]]
    expect(page.locator(".asof .chip.known a")).to_have_text(holding)
    assert parameters(page) == {"key": "office 3", "time": "2000", "threshold": "1"}
    page.locator(".lane .fact.known").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("person 3")


def test_compare_and_its_files(opened, server, tmp_path):
    page = opened(VIEWS["compare"])
    found = server.get("/api/timeline", subject="office 3", predicate="held by")[1]
    expect(page.locator(".line")).to_have_count(len(found["objects"]))
    page.get_by_role("button", name=f"Remove {found['objects'][0]}").click()
    expect(page.locator(".line")).to_have_count(len(found["objects"]) - 1)
    field(page, "Add one").fill("person 7 1")
    page.get_by_role("option", name="person 7 1").click()
    expect(page.locator(".line")).to_have_count(len(found["objects"]))
    kept = [*found["keys"][1:], "person 7 1"]
    assert parameters(page)["objects"] == kept
    files = {}
    for kind in ("SVG", "PNG", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind).click()
        files[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[kind])
    drawn = ElementTree.parse(files["SVG"]).getroot()
    lines = [one for one in drawn.iter("{http://www.w3.org/2000/svg}path") if one.get("data-name")]
    assert [one.get("data-name") for one in lines] == kept
    assert len({one.get("stroke") for one in lines}) == len(kept)  # looks came along
    assert files["PNG"].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    rows = list(csv.reader(files["CSV"].read_text(encoding="utf-8").splitlines()))
    again = server.get("/api/timeline", subject="office 3", predicate="held by", objects=kept)[1]
    assert rows[0] == ["time", *kept]
    assert [float(row[1]) for row in rows[1:]] == pytest.approx(again["probabilities"][0])


def test_model_page(opened, server):
    page = opened("/model")
    measured = server.get("/api/evaluation")[1]
    expect(page.locator(".cards")).to_contain_text(f"{measured['ranking']['mrr']:.3f}")
    expect(page.locator(".modelpage")).to_contain_text(measured["ranking"]["protocol"]["text"])
    expect(page.locator(".plots .canvas svg")).to_have_count(len(measured["calibration"]["slots"]))
    expect(page.get_by_role("heading", name="What it cannot know")).to_be_visible()


def test_names_are_text(opened, nasty):
    page = opened(f"/ask?{urlencode({'subject': 'office 0', 'predicate': 'in', 'object': '?'})}")
    page.locator(".answer").first.wait_for()
    shown = names(page)
    assert nasty[0] in shown and "\\u202egnp.exe" in shown
    for name in nasty:
        page.goto(f"/entity?{urlencode({'key': name})}")
        expect(page.get_by_role("heading", level=1)).to_have_text(
            name.replace("\u202e", "\\u202e").replace("\t", "\\u0009")
        )


def test_links_are_followed_and_gone_back_to(opened):
    page = opened("/")
    page.evaluate("window.stays = true")
    page.locator(".starters a").first.click()
    page.locator(".answer").first.wait_for()
    asked = page.url
    page.get_by_role("link", name="The model", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The model behind this page")
    page.go_back()
    page.locator(".answer").first.wait_for()
    assert page.url == asked and page.evaluate("window.stays")
    page.reload()  # the address alone says what is shown
    page.locator(".answer").first.wait_for()


def test_problems_are_shown_with_a_way_out(opened, server):
    page = opened(VIEWS["unknown"])
    page.get_by_role("button", name="office 3", exact=True).click()
    page.locator(".answer").first.wait_for()
    expect(field(page, "subject")).to_have_value("office 3")
    page.route("**/api/ask*", lambda route: route.abort())
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".problem")).to_contain_text("The server does not answer")
    page.unroute_all(behavior="ignoreErrors")
    page.get_by_role("button", name="Try again").click()
    page.locator(".answer").first.wait_for()
    opened.wrong[:] = [
        line for line in opened.wrong if "Failed to load resource" not in line
    ]  # the browser's own lines


def test_a_key_is_asked_for(opened, model, serving):
    key = "a key of enough letters"
    with serving(Service({"offices": model}), rules=Rules(key=key)) as client:
        page = opened(VIEWS["ask"], base=f"http://{client.host}:{client.port}")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Open").click()
        page.locator(".answer").first.wait_for()
        page.close()
    opened.wrong[:] = [
        line for line in opened.wrong if "Failed to load resource" not in line and f":{client.port}" not in line
    ]


def test_every_view_fits_a_phone_and_is_dark_when_asked(opened):
    page = opened("/", color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    for view in turned(page):
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
    dark = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(dark)
    assert sum(map(int, re.findall(r"\d+", before)[:3])) < 120
    page.get_by_role("button", name="Switch to light").click()
    assert page.evaluate(dark) != before
    opened.wrong[:] = [line for line in opened.wrong if "Failed to load resource" not in line]


@pytest.mark.parametrize(("scheme", "rules"), [("light", ""), ("dark", "runOnly: ['color-contrast']")])
def test_no_serious_findings_of_axe(opened, scheme, rules):
    page = opened("/", color_scheme=scheme, bypass_csp=True)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for view in turned(page):
        if view == "ask":
            page.get_by_role("button", name="Why").first.click()
            page.locator(".whypanel .reasons").first.wait_for()
            field(page, "subject").click()
            page.get_by_role("option").first.wait_for()
        found = page.evaluate(f"axe.run(document, {{resultTypes: ['violations'], {rules}}})")["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")
        ]
        assert not serious, view
    opened.wrong[:] = [line for line in opened.wrong if "Failed to load resource" not in line]
