package page_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/retry"
)

// pieces are what hostile texts are made of.
var pieces = append(hostile[:len(hostile)-1:len(hostile)-1], "plain", `\u003cscript\u003e`, "</script>", "<script>", "<!--", "<b>", "\u202e", "\x00", "\u2028", "'", `"`, "`", "=", "${x}", "%3Cscript%3E", "ä")

// twoHundred are hostile texts, the same ones in every run; the last one is huge.
func twoHundred() (all []string) {
	r := rand.New(rand.NewPCG(1, 2))
	all = append(all, hostile[:len(hostile)-1]...)
	for len(all) < 199 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		all = append(all, b.String())
	}
	return append(all, strings.Repeat("<b>\u202e", 10<<20/6))
}

// everywhere asks for all pages about an event, and about what its texts can be in.
func everywhere(t *testing.T, f *Fixture, what string, e event.Event) {
	t.Helper()
	p := open(t, f)
	id, short := e.ID.String(), url.QueryEscape(what[:min(len(what), 3000)])
	paths := []string{"/", "/problems", "/events", "/subscriptions", "/catalogue", "/audit", "/event?id=" + id, "/letter?event=" + id + "&subscription=mailer",
		"/events?text=" + short + "&correlation=" + short, "/events?type=" + short, "/audit?actor=" + short + "&subscription=" + short, "/type?name=" + short,
		"/event?id=" + short, "/" + url.PathEscape(what[:min(len(what), 1000)]), "/incident.html?id=" + id, "/incident.html?group=" + short}
	letter, err := f.File.DeadLetter(t.Context(), event.Key{EventID: e.ID, Subscription: "mailer"})
	Must(t, err)
	for _, g := range []event.DeadLetter{letter.DeadLetter} {
		paths = append(paths, "/group?id="+g.Fingerprint, "/incident.html?group="+g.Fingerprint)
	}
	for _, path := range paths {
		_, _, got := get(p, path)
		harmless(t, what, got)
	}
}

func TestTwoHundredHostilePayloadsNamesAndErrorsAreShownAsTextOnAllPages(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	synctest.Test(t, func(t *testing.T) {
		s := declare.DefaultSettings()
		s.Breaker.Off, s.Retry = true, s.Retry.With(retry.MaxAttempts(1))
		created := runtime.Define(runtime.Spec[User]{Name: "user.created", Settings: s})
		texts := twoHundred()
		if testing.Short() {
			texts = texts[:20]
		}
		for batch := range slices.Chunk(texts, 20) {
			path := SQLite.Target(t)
			bus, err := SQLite.OpenBus(t.Context(), path, runtime.NewCatalogue(created), runtime.WithLogger(slog.New(slog.DiscardHandler)))
			Must(t, err)
			f := &Fixture{Bus: bus, Path: path, File: SQLite.Outside(t, path)}
			_, err = runtime.Subscribe(bus, created, "mailer", func(_ context.Context, e runtime.Event[User]) error {
				n, _ := strconv.Atoi(e.Payload.Name[:2])
				runtime.Logger(e).Info(batch[n])
				if n == 7 {
					panic(batch[n])
				}
				return errors.New(batch[n])
			})
			Must(t, err)
			for _, text := range batch {
				runtime.Subscribe(bus, created, text[:min(len(text), 100)], func(context.Context, runtime.Event[User]) error { return nil }) // it may be no name
			}
			Must(t, bus.Start(t.Context()))
			for n, text := range batch {
				label := strings.ToValidUTF8(text[:min(len(text), 200)], "?")
				name := fmt.Sprintf("%02d", n) + strings.ToValidUTF8(text[:min(len(text), 100_000)], "?")
				_, err = runtime.Publish(t.Context(), bus, created, User{Name: name}, runtime.WithCorrelationID(label), runtime.WithMetadata(map[string]string{label: label}))
				if err != nil { // not as metadata
					_, err = runtime.Publish(t.Context(), bus, created, User{Name: name})
				}
				Must(t, err)
				synctest.Wait()
				everywhere(t, f, text, newest(t, f, event.Filter{}))
			}
			Must(t, bus.Shutdown(context.Background()))
			Must(t, f.File.Close())
		}
	})
}

func FuzzTextsAreShownAsText(f *testing.F) {
	short.Visit(f, "it fetches many pages")
	for n, text := range twoHundred()[:199] {
		if !testing.Short() || n%10 == 0 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) {
			bus := SQLite.Open(t)
			p := open(t, bus)
			query := url.QueryEscape(text)
			for _, path := range []string{"/events?text=" + query + "&since=", "/audit?actor=" + query, "/event?id=" + query, "/type?name=" + query, "/text?of=" + query} {
				_, header, got := get(p, path)
				harmless(t, text, got)
				for name, values := range header {
					if strings.ContainsAny(fmt.Sprint(values), "\r\n") {
						t.Errorf("%q: the header %s is %q", text, name, values)
					}
				}
			}
		})
	})
}
