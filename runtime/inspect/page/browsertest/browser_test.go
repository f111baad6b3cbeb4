package browsertest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a tab of a Chromium that notes what goes wrong.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	wrongs []string
}

// open starts a Chromium, or skips the test if there is none.
func open(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("SKIPPED: there is no Chromium on this machine, so the page for operators is not tested in a browser")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute))
	allocator, end := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(end)
	ctx, close := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {})) // it reports events that are newer than itself
	t.Cleanup(close)
	b := &browser{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *cdpruntime.EventConsoleAPICalled:
			for _, arg := range e.Args {
				b.note("the console has " + string(e.Type) + " " + string(arg.Value))
			}
		case *cdpruntime.EventExceptionThrown:
			b.note("a script failed: " + e.ExceptionDetails.Error())
		case *cdplog.EventEntryAdded: // violations of the policy are here, too
			b.note("the log has " + string(e.Entry.Level) + " " + e.Entry.Text + " " + e.Entry.URL)
		}
	})
	b.run(cdplog.Enable())
	return b
}

func (b *browser) note(wrong string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrongs = append(b.wrongs, wrong)
}

// clean reports what has gone wrong since the last call.
func (b *browser) clean(where string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, wrong := range b.wrongs {
		b.t.Errorf("%s: %s", where, wrong)
	}
	b.wrongs = nil
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns the value of an expression on the page.
func eval[T any](b *browser, expression string) (value T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &value, func(p *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return value
}

// visit opens an address, and reports what goes wrong with it.
func (b *browser) visit(address string) {
	b.t.Helper()
	b.run(chromedp.Navigate(address))
	b.clean(address)
}

// has opens a page, and reports whether it still has the form of an action.
func (b *browser) has(address, action string) bool {
	b.t.Helper()
	b.run(chromedp.Navigate(address))
	has := eval[bool](b, `!!document.querySelector('form[action="./`+action+`"]')`)
	if has {
		b.clean(address)
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrongs = nil // the page is gone
	return false
}

// scripts lets pages run scripts, or not.
func (b *browser) scripts(on bool) {
	b.t.Helper()
	b.run(emulation.SetScriptExecutionDisabled(!on))
}

// looks sets the width and the color scheme of the window.
func (b *browser) looks(width int64, scheme string) {
	b.t.Helper()
	b.run(emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// links returns the pages that a page leads to, without what is only a text or a jump.
func (b *browser) links() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("a[href]")].map(a => a.href.split("#")[0]).filter(a => a.startsWith(location.origin) && !/\/(text|incident\.html)\?/.test(a))`)
}

// name is the last part of the path of an address: the page.
func name(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address[strings.LastIndexByte(address, '/')+1:]
}

// press sends the first form of an action on the page, filled in, and reports whether that led to a page
// that says what was done.
func (b *browser) press(action string) error {
	b.t.Helper()
	fill := fmt.Sprintf(`(() => {
		const form = document.querySelector('form[action="./%s"]');
		for (let e = form; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
		for (const input of form.querySelectorAll('input[type="text"]:not([value])')) input.value = {to: "beginning", reason: "a test", types: "report.*"}[input.name] ?? input.value;
		form.querySelector("button").id = "pressed";
		return form.querySelector("button").getBoundingClientRect().height > 0;
	})()`, action)
	if !eval[bool](b, fill) {
		return fmt.Errorf("the button of %s cannot be seen", action)
	}
	b.run(chromedp.Click("#pressed", chromedp.ByID))
	var status string
	for range 100 {
		status = eval[string](b, `document.readyState !== "complete" || document.querySelector("#pressed") ? "" : (document.querySelector(".done[role=status]") ?? document.querySelector("h1")).textContent`)
		if status != "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if eval[bool](b, `!document.querySelector(".done[role=status]") && (!!document.querySelector(".trouble") || !document.querySelector("h1"))`) {
		return fmt.Errorf("%s led to %q", action, eval[string](b, `document.querySelector("main").textContent`))
	}
	return nil
}
