package docpage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

func TestAPageShowsAllOfAnEvent(t *testing.T) {
	text := said(entryOf(t, rendered(t, complete()), "event-order.placed"))
	for _, want := range []string{
		"order. placed deprecated money core Deprecated. Use order.accepted.",
		"A customer ordered. Use order.paid for the money.",
		"Owner team-checkout In Go OrderPlaced Declared at events.yaml:7",
		"state State",
		"method Method optional How it is paid.",
		"colours [] Colour 1 to 3 items no two the same",
		"note string deprecated Nobody reads it. at most 200 characters format email matches ^[a-z]<3$",
		"count int at least 1 if a stored event lacks it: 5",
		`Copy { "state": 1 }`,
		"1s 2s 4s 1 2 3 4 dead letter",
		"4 attempts over 7s Timeout 30s per attempt Slow logged when an attempt takes longer than 10s Backoff exponential from 1s, ×2, at most 30s, ± 10 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the entry lacks %q:\n%s", want, text)
		}
	}
}

func TestAPageShowsTheHistoryOfAnEvent(t *testing.T) {
	page := rendered(t, parsed(t, `version: 1
package: shop
types:
  Money: { fields: { amount: int64 } }
  Cents: { fields: { cents: int64 } }
events:
  order.placed:
    aliases: [shop.order, order.made]
    version: 3
    payload: { total: Money, tips: "[]Money" }
    history:
      1: {}
      2: { doc: "The total was in <cents>.", payload: { total: Cents, first: Money } }
    subscriptions: { audit: { aliases: [books] } }
`))
	text := said(entryOf(t, page, "event-order.placed"))
	for _, want := range []string{
		"order. placed version 3", "Formerly shop.order , order.made In Go", "audit OnOrderPlacedAudit, formerly books",
		"Version 2 The total was in <cents>. Field Type Meaning total Cents first Money Version 1 No payload. If it fails",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the entry lacks %q:\n%s", want, text)
		}
	}
	for id, want := range map[string]string{"type-Money": "Used by order.placed", "type-Cents": "Used by order.placed"} {
		if got := said(entryOf(t, page, id)); !strings.HasSuffix(got, want) {
			t.Errorf("%s says %s", id, got)
		}
	}
	if strings.Contains(page, `id="type-OrderPlacedV1"`) || !strings.Contains(said(page), "1 event · 2 types") {
		t.Error("an old payload counts as a type")
	}
}

func TestAPageShowsAllOfATypeAndWhoUsesIt(t *testing.T) {
	page := rendered(t, complete())
	for id, want := range map[string]string{
		"type-State":  "State enum State is how it is. open = 1 Nothing is decided. shut = 2 deprecated Nobody shuts any more. Used by order.placed",
		"type-Card":   "Card struct Field Type Meaning number string Used by Method",
		"type-Method": "Method union One of these, as kind says: by_card Card Used by order.placed",
		"type-Colour": "Colour Go type example.org/paint.RGB ; in JSON string . Used by order.placed",
	} {
		if got := said(entryOf(t, page, id)); got != want {
			t.Errorf("%s says\n%s\nwant\n%s", id, got, want)
		}
	}
}

const delivered = `version: 1
package: shop
limits: { bank: { doc: It is slow., at_once: 3 }, mail: { rate: 100 per 1m } }
policies: { ui.*: { priority: high, breaker: off, slow_after: off, retry: { max_attempts: 1 } } }
events:
  order.placed:
    expires_after: 1h
    max_snoozes: 20
    limits: [bank, { limit: mail, by: id }]
    redrive: { reasons: [timeout, crash], every: 10m, max: 4 }
    errors: { declined: permanent, busy: { retry: { max_attempts: 9 } }, odd: { retry: {} } }
    partition_by: id
    dedupe_by: id
    await_by: id
    payload: { id: string }
    subscriptions: { audit: { doc: Keeps the books. }, charge-card: { timeout: 7s } }
  ui.clicked: {}
  started: {}
`

func TestAPageSaysWhatBecomesOfAnEventThatFails(t *testing.T) {
	page := rendered(t, parsed(t, delivered))
	order := said(entryOf(t, page, "event-order.placed"))
	for _, want := range []string{
		"In order by id",
		"Dedupe key id",
		"Awaited by id",
		"any error 1s 2s 4s 1 2 3 4 dead letter again after 10m, ×4 declined 1 dead letter again after 10m, ×4 busy",
		"Expires 1h after it was published",
		"Breaker opens for 30s when more than 50 % of at least 4 events within 1m have failed",
		"Snoozes at most 20 of one event",
		"Limit bank 3 at once. It is slow.",
		"Limit mail by id 100 per 1m for each id",
		"Redrive dead letters by timeout, crash: again every 10m, at most 4 times",
		"Error declined permanent: a dead letter at once Error busy 9 attempts, exponential, at most 30s",
		"audit OnOrderPlacedAudit Keeps the books. Delivered as above.",
		"charge-card OnOrderPlacedChargeCard any error",
		"Timeout 7s per attempt",
	} {
		if !strings.Contains(order, want) {
			t.Errorf("order.placed lacks %q:\n%s", want, order)
		}
	}
	click := said(entryOf(t, page, "event-ui.clicked"))
	if !strings.Contains(click, "high priority") || !strings.Contains(click, "one attempt") || !strings.Contains(click, "Breaker none") || strings.Contains(click, "Slow") {
		t.Errorf("ui.clicked says %s", click)
	}
	if !strings.Contains(said(page), "2 events have no declared subscription.") {
		t.Error("the page does not say how many events nobody subscribes to")
	}
}

func TestAPageShowsSchedulesAndBatches(t *testing.T) {
	page := rendered(t, parsed(t, `version: 1
package: shop
events:
  report.requested:
    payload: { kind: string }
    subscriptions: { write-report: { batch: { size: 25, wait: 2s } }, print-report: { batch: { wait: off } } }
  cache.expired: {}
schedules:
  nightly: { doc: Asks for the <report>., event: report.requested, cron: "0 3 * * *", time_zone: Europe/Berlin, payload: { kind: "<day>" } }
  expire: { event: cache.expired, every: 90m, missed: skip }
`))
	for id, all := range map[string][]string{
		"event-report.requested": {
			`Published by the bus nightly 0 3 * * * (Europe/Berlin) with {"kind":"<day>"} . The newest missed time is published. Asks for the <report>.`,
			"Batches up to 25 events, at the latest 2s after the first, if the program handles batches",
			"Batches up to 100 events, without waiting for more, if the program handles batches",
		},
		"event-cache.expired": {"Published by the bus expire every 1h30m . Missed times are skipped."},
	} {
		for _, want := range all {
			if text := said(entryOf(t, page, id)); !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", id, want, text)
			}
		}
	}
	if text := said(page); !strings.Contains(text, "2 events · 0 types · 2 declared subscriptions · 2 schedules") {
		t.Errorf("the schedules are not counted:\n%.300s", text)
	}
}

// pages are those of the catalogues in the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"complete": rendered(t, complete()), "delivered": rendered(t, parsed(t, delivered)), "hostile": rendered(t, parsed(t, hostile))}
	for _, pattern := range []string{"../../examples/*.yaml", "../../templates/testdata/*.yaml", "../catalog/parse/testdata/cases/*/events.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if c, _, err := parse.Load(path); err != nil {
				t.Fatal(err)
			} else if c != nil {
				all[path] = rendered(t, c)
			}
		}
	}
	if len(all) < 5 {
		t.Fatalf("there are only %d pages", len(all))
	}
	return all
}

func TestEveryLinkLeadsToOnePlaceOnThePage(t *testing.T) {
	for name, page := range pages(t) {
		ids := map[string]int{}
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			ids[m[1]]++
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: the id %s is there %d times", name, id, n)
			}
		}
		for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if ids[m[1]] == 0 {
				t.Errorf("%s: #%s leads nowhere", name, m[1])
			}
		}
	}
}

func TestAPageLoadsNothing(t *testing.T) {
	inTags := regexp.MustCompile(`(?i)^<(link|img|iframe|object|embed)| (src|srcset|action|data|on\w+)=|href="[^#]|url\([^#]`)
	for name, page := range pages(t) {
		for _, tag := range tags.FindAllString(page, -1) {
			if inTags.MatchString(tag) {
				t.Errorf("%s has %s", name, tag)
			}
		}
	}
	if found := regexp.MustCompile(`url\(|@import|fetch\(|XMLHttpRequest|WebSocket|import\(|https?:`).FindString(style + script); found != "" {
		t.Errorf("style or script has %s", found)
	}
}

// hostile has texts that would be markup, script or style if they were not escaped.
const hostile = `version: 1
package: shop
types:
  T: { doc: "</script><script>alert(1)</script>", enum: ["<b>bold</b>", "{{.X}}", "a\"b"] }
events:
  a.done:
    doc: "<img src=x onerror=alert(1)> ` + "`unclosed and `code` and <style>*{}</style>" + `\n\n*/ --> ]]> &lt;"
    payload: { t: { type: T, doc: "'\"><svg onload=alert(1)>" } }
    subscriptions: { audit: { doc: "</textarea><script>" } }
`

func TestTextOfACatalogueStaysText(t *testing.T) {
	page := rendered(t, parsed(t, hostile))
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("there are %d scripts", n)
	}
	if n := strings.Count(page, "<style"); n != 1 {
		t.Errorf("there are %d styles", n)
	}
	for _, markup := range []string{"<img", "<b>", "<svg onload", "</textarea>"} {
		if strings.Contains(page, markup) {
			t.Errorf("%s is markup", markup)
		}
	}
	text := said(entryOf(t, page, "event-a.done"))
	for _, want := range []string{"<img src=x onerror=alert(1)> unclosed and code` and <style>*{}</style>", "*/ --> ]]> &lt;", `'"><svg onload=alert(1)>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

func TestConstraintsAreDescribedInWords(t *testing.T) {
	for yaml, want := range map[string]string{
		"type: int, min: 1, max: 10":                              "1 to 10",
		"type: int, min: 3, max: 3":                               "exactly 3",
		"type: duration, max: 400d":                               "at most 400d",
		"type: string, min_length: 1":                             "at least 1 character",
		"type: bytes, min_length: 1, max_length: 2":               "1 to 2 bytes",
		`type: "[]int", max_items: 1, unique: true`:               "at most 1 item|no two the same",
		`type: "string?", format: url, pattern: x, default: http`: `format url|matches x|if absent: "http"`,
		"type: string":                                            "",
		"type: string, was: a":                                    "formerly a",
		"type: string, sensitive: true, personal: true":           `sensitive|personal`,
		"type: string, sensitive: false":                          ``,
		"type: string, was: [a, b], default: http":                `if a stored event lacks it: "http"|formerly a, b`,
	} {
		field := parsed(t, "version: 1\npackage: p\nevents: { a.done: { payload: { f: { "+strings.Replace(yaml, ", default: http", "", 1)+" } } } }").Events[0].Fields[0]
		if strings.Contains(yaml, "default") {
			field.Default = catalog.Value[json.RawMessage]{V: json.RawMessage(`"http"`), Pos: field.Name.Pos}
		}
		if got := strings.Join(rules(field), "|"); got != want {
			t.Errorf("%s is %q, want %q", yaml, got, want)
		}
	}
}

func TestAPageShowsReservedNames(t *testing.T) {
	page := rendered(t, parsed(t, `version: 1
package: p
types: { Money: { reserved: [cents], fields: { amount: int64, in: { fields: {}, reserved: [x] } } } }
events: { a.done: { reserved: [note, remark], payload: { total: Money } } }
`))
	for id, want := range map[string]string{"event-a.done": "note , remark", "type-Money": "cents", "type-MoneyIn": "x"} {
		if text := said(entryOf(t, page, id)); !strings.Contains(text, "Names that no field may have: "+want+" .") {
			t.Errorf("%s: %s", id, text)
		}
	}
}

func TestAPageIsTheSameForTheSameCatalogue(t *testing.T) {
	source, err := os.ReadFile("../../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, second := rendered(t, parsed(t, string(source))), rendered(t, parsed(t, string(source)))
	if first != second {
		t.Error("two pages differ")
	}
}

func TestThePageHasTheTitleThatIsGiven(t *testing.T) {
	page, err := Render(parsed(t, delivered), "Events & more")
	if err != nil || !strings.Contains(string(page), "<h1>Events &amp; more</h1>") {
		t.Errorf("%v, %.300s", err, page)
	}
	if page := rendered(t, parsed(t, delivered)); !strings.Contains(page, "<h1>shop</h1>") {
		t.Error("without one it is not the package's name")
	}
}

func TestDocsAreSplitIntoParagraphsAndCode(t *testing.T) {
	for doc, want := range map[string]string{
		"":                "",
		"one":             "(one)",
		"one\ntwo\n\nsix": "(one\ntwo)(six)",
		"a `b` c":         "(a [b] c)",
		"`a` `b`":         "([a] [b])",
		"a ` b":           "(a ` b)",
		"`a` ` b":         "([a] ` b)",
	} {
		var b strings.Builder
		for _, p := range paragraphs(doc) {
			b.WriteByte('(')
			for _, s := range p {
				if s.Code {
					b.WriteString("[" + s.Text + "]")
				} else {
					b.WriteString(s.Text)
				}
			}
			b.WriteByte(')')
		}
		if b.String() != want {
			t.Errorf("%q is %q, want %q", doc, b.String(), want)
		}
	}
}

func TestAnEventOfAnIncludedFileSaysWhereItIs(t *testing.T) {
	c, findings := parse.TextWith(
		parse.Memory{Text: map[string][]byte{"shop/teams/a.yaml": []byte("version: 1\nevents:\n  a.done: {}\n")}},
		"shop/events.yaml", []byte("version: 1\npackage: p\ninclude: [teams/a.yaml]\n"),
	)
	if findings != nil {
		t.Fatal(findings)
	}
	if page := rendered(t, c); !strings.Contains(page, "teams/a.yaml:3") || strings.Contains(page, "shop/teams") {
		t.Error("the page does not say teams/a.yaml:3")
	}
}
