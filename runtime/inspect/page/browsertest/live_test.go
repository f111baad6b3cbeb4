package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
)

// publish publishes an event, and returns the last part of its address.
func (s *shop) publish(t *testing.T, n int) string {
	t.Helper()
	order := eventstest.SampleOrderPlaced()
	order.Number = int64(n)
	receipt, err := events.PublishOrderPlaced(t.Context(), s.bus, order)
	must(t, err)
	return "event?id=" + receipt.ID.String()
}

// waitFor waits until an expression is true on the page.
func (b *browser) waitFor(what, expression string) {
	b.t.Helper()
	for range 1500 {
		if eval[bool](b, expression) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("%s does not happen; the page is\n%s", what, eval[string](b, "document.body.innerText"))
}

// listening waits until so many tabs listen.
func (s *shop) listening(t *testing.T, tabs int64) {
	t.Helper()
	for range 1500 {
		if s.tabs.Load() == tabs {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%d tabs listen, want %d", s.tabs.Load(), tabs)
}

// state waits until the page says how it is kept up to date.
func (b *browser) state(want string) {
	b.t.Helper()
	b.waitFor("the state "+want, fmt.Sprintf(`document.querySelector(".updates span")?.textContent === %q`, want))
}

// rowOf is an expression for the row of an event, -1 if it is not there.
func rowOf(event string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].findIndex(r => r.querySelector('a[href="./%s"]'))`, event)
}

func (b *browser) hasAtTheTop(event string) {
	b.t.Helper()
	b.waitFor("an event at the top", rowOf(event)+" === 0")
}

// search is that of the tests: the shop has 24 such events.
const search = "events?type=order.placed"

func TestNewEventsAppearAtTheTopOfASearchUntilItIsFrozen(t *testing.T) {
	b, s := open(t), openShop(t)
	b.visit(s.address + search)
	b.state("Live")
	b.run(chromedp.Evaluate(`window.same = true`, nil))
	for n := range 30 {
		s.publish(t, 5000+n)
	}
	last := s.publish(t, 5030)
	b.hasAtTheTop(last)
	if rows := eval[int](b, `document.querySelectorAll("tbody tr").length`); rows != 50 {
		t.Errorf("%d rows are there after 24 and 31 events", rows)
	}
	if types := eval[[]string](b, `[...new Set([...document.querySelectorAll("tbody th")].map(e => e.textContent))]`); len(types) != 1 {
		t.Errorf("the search for one type shows %q", types)
	}
	if !eval[bool](b, `document.querySelector("tbody tr").classList.contains("new")`) {
		t.Error("the new event is not marked")
	}

	b.run(chromedp.Click(".updates button"))
	b.state("Frozen")
	s.listening(t, 0)
	unseen := s.publish(t, 5031)
	b.run(chromedp.Evaluate(`document.dispatchEvent(new Event("visibilitychange")), dispatchEvent(new Event("pageshow")), load()`, nil)) // as if it had been away
	if row := eval[int](b, rowOf(unseen)); row >= 0 || s.tabs.Load() > 0 {
		t.Errorf("while paused, a new event is in row %d, and %d tabs listen", row, s.tabs.Load())
	}
	b.run(chromedp.Click(".updates button"))
	b.hasAtTheTop(unseen)
	b.state("Live")
	if !eval[bool](b, `window.same`) {
		t.Error("the page was loaded as a whole")
	}
	b.clean("a live search")
}

func TestASearchIsHeldWhileSomebodyReadsOrWorksInIt(t *testing.T) {
	b, s := open(t), openShop(t)
	b.looks(390, "light")
	for what, c := range map[string]struct{ begin, end string }{
		"a text is typed":          {`document.querySelector("[name=text]").value = "x"`, `document.querySelector("[name=text]").value = ""`},
		"a status is chosen":       {`document.querySelector("select").selectedIndex = 2`, `document.querySelector("select").selectedIndex = 0`},
		"a field has the focus":    {`document.querySelector("[name=correlation]").focus()`, `document.activeElement.blur()`},
		"a text is selected":       {`getSelection().selectAllChildren(document.querySelector("h1"))`, `getSelection().removeAllRanges()`},
		"older rows are looked at": {`scrollTo({top: 2000, behavior: "instant"})`, `scrollTo({top: 0, behavior: "instant"})`},
	} {
		b.visit(s.address + search)
		b.state("Live")
		b.run(chromedp.Evaluate(c.begin+";0", nil))
		event := s.publish(t, 1)
		b.state("Held")
		if row := eval[int](b, rowOf(event)); row >= 0 {
			t.Errorf("while %s, a new event is in row %d", what, row)
		}
		b.run(chromedp.Evaluate(c.end+";0", nil))
		b.hasAtTheTop(event)
	}
	b.visit(s.address + search + "&status=pending")
	b.state("Live")
	b.hasAtTheTop(s.publish(t, 1)) // a form that was sent is not being filled in
	b.clean("a held search")
}

func TestTheFocusStaysOnTheRowThatMovesDown(t *testing.T) {
	b, s := open(t), openShop(t)
	b.looks(1280, "light") // so that the row need not be scrolled to
	b.visit(s.address + search)
	b.state("Live")
	at := eval[string](b, `document.querySelectorAll("tbody a")[3].focus(), document.activeElement.getAttribute("href")`)
	b.hasAtTheTop(s.publish(t, 1))
	if now := eval[string](b, `document.activeElement.getAttribute("href") ?? document.activeElement.tagName`); now != at {
		t.Errorf("the focus was on %s, and is on %s", at, now)
	}
}

func TestHiddenTabsAreSilentAndUpToDateWhenTheyAreShown(t *testing.T) {
	b, s := open(t), openShop(t)
	b.visit(s.address + search)
	s.listening(t, 1)
	// Another tab in front of it hides it.
	front, close := chromedp.NewContext(b.ctx)
	defer close()
	must(t, chromedp.Run(front, chromedp.Navigate(s.address+"audit")))
	must(t, chromedp.Run(front, target.ActivateTarget(chromedp.FromContext(front).Target.TargetID)))
	if !eval[bool](b, "document.hidden") { // this Chromium has no window in which a tab could be behind another one
		t.Log("a tab is hidden by a script")
		b.run(chromedp.Evaluate(`Object.defineProperty(document, "hidden", {get: () => !window.shown, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`, nil))
	}
	s.listening(t, 0) // the page Audit does not listen
	event := s.publish(t, 1)
	if row := eval[int](b, rowOf(event)); row >= 0 {
		t.Errorf("in a hidden tab a new event is in row %d", row)
	}
	b.run(target.ActivateTarget(chromedp.FromContext(b.ctx).Target.TargetID),
		chromedp.Evaluate(`window.shown = true, document.hidden || document.dispatchEvent(new Event("visibilitychange"))`, nil))
	b.hasAtTheTop(event)
	s.listening(t, 1)
	b.clean("a hidden tab")
}

func TestATabSaysThatItsServerIsGone(t *testing.T) {
	b, s := open(t), openShop(t)
	b.visit(s.address)
	b.state("Live")
	s.gone.Store(true)
	s.server.CloseClientConnections()
	b.state("Offline")
	s.gone.Store(false)
	b.state("Live")
}

func TestWithoutScriptsALinkLoadsTheSearchAgain(t *testing.T) {
	b, s := open(t), openShop(t)
	b.scripts(false)
	b.visit(s.address + search)
	event := s.publish(t, 1)
	b.run(chromedp.Click(".updates a"))
	b.hasAtTheTop(event)
	if at := eval[string](b, "location.href"); at != s.address+search {
		t.Errorf("the link leads to %s", at)
	}
	if n := eval[int](b, `document.querySelectorAll(".updates button").length`); n != 0 {
		t.Error("there is a button that does nothing")
	}
	b.clean("a search without scripts")
}
