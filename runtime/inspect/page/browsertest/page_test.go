package browsertest

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "make pictures of all pages in this `folder`")

// inTables returns the names in the tables of routes: pages, and actions.
func inTables(t *testing.T) (sheets, actions []string) {
	t.Helper()
	routes, err := os.ReadFile("../routes.go")
	must(t, err)
	files, err := filepath.Glob("../*.go")
	must(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		all.Write(text)
	}
	for _, m := range regexp.MustCompile(`&(\w+Sheet),`).FindAllStringSubmatch(string(routes), -1) {
		path := regexp.MustCompile(`\b` + m[1] + `\s*=\s*sheet\{path: "([^"]*)"`).FindStringSubmatch(all.String())
		if path == nil {
			t.Fatalf("the path of %s cannot be found", m[1])
		}
		sheets = append(sheets, path[1])
	}
	_, table, _ := strings.Cut(string(routes), "var actions = ")
	table, _, _ = strings.Cut(table, "\n}\n")
	for _, m := range regexp.MustCompile(`"([a-z-]+)":`).FindAllStringSubmatch(table, -1) {
		actions = append(actions, m[1])
	}
	if len(sheets) < 5 || len(actions) < 5 {
		t.Fatalf("the tables have %q and %q", sheets, actions)
	}
	return sheets, actions
}

// mostOfAPage is how many pages of one kind are visited.
const mostOfAPage = 4

// crawl visits all pages, some of each kind, and calls do on each.
func (b *browser) crawl(address string, do func(address string)) (visited map[string]string) {
	b.t.Helper()
	visited = map[string]string{}
	count, seen := map[string]int{}, map[string]bool{}
	for queue := []string{address}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if seen[at] || count[name(at)] >= mostOfAPage {
			continue
		}
		seen[at] = true
		count[name(at)]++
		b.visit(at)
		if _, ok := visited[name(at)]; !ok {
			visited[name(at)] = at
		}
		queue = append(queue, b.links()...)
		queue = append(queue, b.plans()...)
		if do != nil {
			do(at)
		}
	}
	return visited
}

// plans returns where the forms lead that only ask for a page, with something in each field that must not be empty.
func (b *browser) plans() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll('form[method="get"]:not([role=search])')].map(f => {
		const values = new URLSearchParams(new FormData(f));
		for (const [field, text] of Object.entries({reason: "a test", pattern: "payment.*", from: "beginning"}))
			if (values.get(field) === "") values.set(field, text);
		return f.action + "?" + values;
	})`)
}

func TestAllPagesAndActionsWorkInABrowserWithAndWithoutScripts(t *testing.T) {
	sheets, actions := inTables(t)
	for mode, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(mode, func(t *testing.T) {
			b := open(t)
			address := openShop(t).address
			b.scripts(scripts)
			visited := map[string]string{}
			pressed := map[string]bool{}
			for again := true; again; {
				again = false
				forms := map[string][]string{} // the pages that have it, by action
				maps.Copy(visited, b.crawl(address, func(at string) {
					for _, action := range eval[[]string](b, `[...document.querySelectorAll('form[method="post"]')].map(f => f.getAttribute("action").slice(2))`) {
						forms[action] = append(forms[action], at)
					}
				}))
				for _, action := range actions {
					for _, at := range forms[action] {
						if pressed[action] || action == "check-event" && !strings.Contains(at, "type=") || !b.has(at, action) { // another action has settled it
							continue
						}
						pressed[action], again = true, true
						if err := b.press(action); err != nil {
							t.Errorf("on %s: %v", at, err)
						}
						b.clean(action)
						if action == "check-event" { // it leads to no address, but to the form of the next one
							pressed["publish-event"] = true
							if err := b.press("publish-event"); err != nil {
								t.Errorf("on %s: %v", at, err)
							}
							b.clean("publish-event")
						}
						led := eval[string](b, "location.href")
						visited[name(led)] = led
					}
				}
			}
			for _, sheet := range sheets {
				if visited[sheet] == "" {
					t.Errorf("no link leads to the page %q", sheet)
				}
			}
			for _, action := range actions {
				// A job of this shop ends at once: there is none to stop or to resume.
				if !pressed[action] && action != "stop-job" && action != "resume-job" {
					t.Errorf("no page has a form for %s", action)
				}
			}
		})
	}
}

func TestAllPagesAreAccessibleAndFitOnAPhone(t *testing.T) {
	b := open(t)
	address := openShop(t).address
	axe := axeSource(t)
	type looks struct {
		width  int64
		scheme string
	}
	all := []looks{{390, "light"}, {1280, "dark"}}
	if *shots != "" {
		all = append(all, looks{1280, "light"}, looks{390, "dark"})
	}
	for _, looks := range all {
		b.looks(looks.width, looks.scheme)
		visited := b.crawl(address, nil)
		for _, name := range slices.Sorted(maps.Keys(visited)) {
			b.visit(visited[name])
			if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > int(looks.width) {
				t.Errorf("%s is %d pixels wide on a screen of %d", visited[name], wide, looks.width)
			}
			if name == "" && !eval[bool](b, `[...document.querySelectorAll('.spark svg[role=img][aria-label]:not([aria-label=none]) .bars')].some(p => p.getAttribute("d") !== "" && p.getBoundingClientRect().height > 5)`) {
				t.Error("the first page draws no bars of the last hour")
			}
			b.picture(name, looks.width, looks.scheme)
			b.run(chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil))
			if axe == "" {
				continue
			}
			b.run(chromedp.Evaluate(axe+";0", nil))
			for _, found := range eval[[]string](b, `axe.run({resultTypes: ["violations"]}).then(r => r.violations.map(v => v.impact + ": " + v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary).join(" | ")))`) {
				t.Errorf("%s, %s, %d pixels: %s", visited[name], looks.scheme, looks.width, found)
			}
			b.clean(name)
		}
	}
}
