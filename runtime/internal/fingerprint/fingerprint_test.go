package fingerprint_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/fingerprint"
)

func TestPartsThatDifferBetweenErrorsOfOneKindAreReplaced(t *testing.T) {
	for _, test := range []struct{ message, want string }{
		{"", ""},
		{"connection refused", "connection refused"},
		{"order 4711 has 3 lines, want -1", "order <n> has <n> lines, want <n>"},
		{"order-4711, job#17, ord_123, order17", "order-<n>, job#<n>, ord_<n>, order<n>"},
		{"user 018f3c5e-0000-7000-8000-000000000001 not found", "user <id> not found"},
		{"USER 018F3C5E-0000-7000-8000-000000000001.", "USER <id>."},
		{"commit 3fa2b1c9 and 12345678 and deadbeef1", "commit <n> and <n> and <n>"},
		{"at 0xc000123456: nil pointer", "at <n>: nil pointer"},
		{"customer cus_NffrFeUfNV2Hib, key 01ARZ3NDEKTSV4RRFFQ69G5FAV", "customer cus_<n>, key <n>"},
		{"upload AbCdEfGhIjKlMnOpQ12, upload2", "upload <n>, upload<n>"},
		{"took 1m30.5s of 30s, 1,234.50 EUR, 1e+06 and 5.5e-7", "took <n> of <n>, <n> EUR, <n> and <n>"},
		{"dial tcp 10.0.0.1:5432: connect: connection refused", "dial tcp <addr>: connect: connection refused"},
		{"read 10.1.2.3:80->10.0.0.2:9999: reset", "read <addr>-><addr>: reset"},
		{"dial tcp [::1]:8080, [fe80::1%eth0]:80, from 2001:db8::ff", "dial tcp <addr>, <addr>, from <addr>"},
		{"lookup ::1: no such host", "lookup <addr>: no such host"},
		{"Get localhost:8080/orders/4711/lines/3: EOF", "Get localhost:<n>/orders/<n>/lines/<n>: EOF"},
		{"open /tmp/busgen-1234567/001/shop.db: denied", "open /tmp/busgen-<n>/<n>/shop.db: denied"},
		{"no mailbox ada.l+x@mail.example.org here", "no mailbox <addr> here"},
		{`field "na\"me" is 'x y', not ` + "`z`", "field <text> is <text>, not <text>"},
		{"can't read the users' file", "can't read the users' file"},
		{"can't read 'a'", "can't read <text>"},
		{"the 'a'1", "the 'a'<n>"},
		{`an "unclosed and 5`, `an "unclosed and <n>`},
		{`{"code":"E17","n":5}`, `{<text>:<text>,<text>:<n>}`},
		{"since 2026-11-21T16:51:02.123456Z and 2026/11/21 16:51:02", "since <time> and <time>"},
		{"since 2009-11-10 23:00:00 +0000 UTC, at 10:20:30.5", "since <time>, at <time>"},
		{"on 2009-11-10", "on <time>"},
		{"2009-11-10x is not one", "<n>-<n>-<n> is not one"},
		{"http2: sha256 of x509 from k8s", "http<n>: sha<n> of x<n> from <n>"},
		{"main.go:42: größe1 naïve", "main.go:<n>: größe<n> naïve"},
		{"ratio a:b, [a b], fe:ed", "ratio a:b, [a b], fe:ed"},
		{"x=-5, +3 (-1.5e3) [.5] 0.5 a-5 -10.0.0.1 x.5 ...5", "x=<n>, <n> (<n>) [<n>] <n> a-<n> <addr> x.<n> ...<n>"},
		{"took 999µs, then -3μs, 1.2ms", "took <n>, then <n>, <n>"},
		{"token 3q2+7w8AAQIDBAUGBwgJCgsMDQ4PEA== expired", "token <n> expired"},
		{"token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U bad", "token <n>.<n>.<n> bad"},
		{"GET /reset/9f8XkAbCdE2fGhIjK5lM: gone", "GET /reset/<n>: gone"},
		{"commit deadbeef and feedface, a cafe facade", "commit <n> and <n>, a cafe facade"},
		{"getUserByIdOrEmail in TestAShutdownBetweenTwoMembers", "getUserByIdOrEmail in TestAShutdownBetweenTwoMembers"},
		{"Content-Security-Policy of github.com/busgen/busgen/runtime", "Content-Security-Policy of github.com/busgen/busgen/runtime"},
		{"AbstractSingletonProxyFactoryBean/MaxIdleConnsPerHost", "AbstractSingletonProxyFactoryBean/MaxIdleConnsPerHost"},
		{"ERR_TOO_MANY_REDIRECTS key=value==", "ERR_TOO_MANY_REDIRECTS key=value=="},
		{"between <n> and <id>", "between <n> and <id>"},
	} {
		if got := fingerprint.Normalize(test.message); got != test.want {
			t.Errorf("%q becomes\n%q, want\n%q", test.message, got, test.want)
		}
		if got := fingerprint.Normalize(test.want); got != test.want {
			t.Errorf("%q becomes %q: it was normalised before", test.want, got)
		}
	}
}

func TestWhatTellsCausesApartStays(t *testing.T) {
	for _, message := range []string{
		"PUT https://crm.example/contacts: status 404", "unexpected status: 503", "status=401", "StatusCode: 429", "status code 500", "http status (409)",
		"exit status 1", "exit status 137", "exit code 3", "signal 9", "errno 13", "errno=28", "rpc error: code = 5", "rpc error: code = 14 desc = gone",
		"ERROR: duplicate key (SQLSTATE 23505)", "SQLSTATE=42P01", "SQLSTATE 0A000", "Error 1062 (23000): duplicate", "ORA-00942: no such table",
		"HTTP 502", "smtp: 451 greylisted", "code: E17", "code -32601",
		`relation "users" does not exist`, `relation "orders" does not exist`, `null value in column "email"`, `open "/etc/shop.conf": permission denied`,
	} {
		want := strings.ReplaceAll(message, "(23000)", "(<n>)")
		if got := fingerprint.Normalize(message); got != want {
			t.Errorf("%q becomes %q", message, got)
		}
		if got := fingerprint.Normalize(want); got != want {
			t.Errorf("%q becomes %q the second time", want, got)
		}
	}
	for message, want := range map[string]string{
		"HTTP/1.1 404 Not Found": "HTTP/<n> 404 Not Found",
		"status of order 4711":   "status of order <n>",
		"code 4711":              "code <n>",
		"status 1234567":         "status <n>",
		"exit after 17 tries":    "exit after <n> tries",
		"exit 1.5s":              "exit <n>",
		"status 10.0.0.1:80":     "status <addr>",
		"status 12:30:05":        "status <time>",
		"error code 018f3c5e-0000-7000-8000-000000000001": "error code <id>",
		`no user "ann" in table "orders_2024"`:            `no user <text> in table <text>`,
		`customer "relation"`:                             "customer <text>",
	} {
		if got := fingerprint.Normalize(message); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
}

// messages are like those of programs, and made of what is treated in a
// special way.
var messages = rapid.Custom(func(t *rapid.T) string {
	pieces := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{
			"'", `"`, "`", `\`, "@", ".", ":", "::", "-", "+", "[", "]", "%", "<", ">", " ", ",", "_", "e", "ä", "<n>", "order",
			"10.0.0.1", "[::1]:80", "fe80::1", "2026-11-21", "T10:20:30", "018f3c5e-0000-7000-8000-000000000001", "a@b.co", "0x",
		}),
		rapid.StringMatching(`[0-9]{1,9}`), rapid.StringMatching(`[a-z0-9]{1,9}`), rapid.String(),
	), 0, 12).Draw(t, "pieces")
	return strings.Join(pieces, "")
})

func TestNormalizingTwiceChangesNothingAndHardlyLengthens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := messages.Draw(t, "message")
		once := fingerprint.Normalize(message)
		if twice := fingerprint.Normalize(once); twice != once {
			t.Errorf("%q becomes %q and then %q", message, once, twice)
		}
		if len(once) > 3*len(message) {
			t.Errorf("%q becomes %q: longer than three times", message, once)
		}
		if digits := regexp.MustCompile(`[0-9]`).FindString(once); digits != "" {
			t.Errorf("%q becomes %q, with digits", message, once)
		}
	})
}

func TestNumbersAndIdsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,8}-|[a-z]{0,8}[ #=:/(_]`), 1, 6).Draw(t, "words")
		holes := map[string]*rapid.Generator[string]{
			"a number":      rapid.StringMatching(`[1-9][0-9]{0,18}`),
			"a hash":        rapid.StringMatching(`[0-9a-f]{11}[0-9]`),
			"a UUID":        rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`),
			"a token":       rapid.Custom(func(t *rapid.T) string { return tokenOf(rapid.Int64().Draw(t, "seed")) }),
			"a signed one":  rapid.StringMatching(`[-+]?[1-9][0-9]{0,5}(\.[0-9]{1,3})?`),
			"an address":    rapid.StringMatching(`10\.[1-9]\.1[0-9]{2}\.[1-9]:[1-9][0-9]{1,3}`),
			"a quoted text": rapid.StringMatching(`"[^"\\]*"`),
		}
		kinds := slices.Sorted(maps.Keys(holes))
		var one, other strings.Builder
		for _, word := range words {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			fmt.Fprint(&one, word, holes[kind].Draw(t, kind), " ")
			fmt.Fprint(&other, word, holes[kind].Draw(t, kind), " ")
		}
		if a, b := fingerprint.Normalize(one.String()), fingerprint.Normalize(other.String()); a != b {
			t.Errorf("%q and %q become\n%q and\n%q", one.String(), other.String(), a, b)
		}
		if fingerprint.Of("crash", "", one.String(), "") != fingerprint.Of("crash", "", other.String(), "") {
			t.Error("the fingerprints differ")
		}
	})
}

// tokenOf is the base64 of 32 random bytes, such as session keys are.
func tokenOf(seed int64) string {
	bytes := make([]byte, 32)
	random := rand.New(rand.NewPCG(uint64(seed), 4711))
	for i := range bytes {
		bytes[i] = byte(random.Uint32())
	}
	return base64.StdEncoding.EncodeToString(bytes)
}

func TestTokensThatAreDifferentAreOneGroup(t *testing.T) {
	for name, token := range map[string]func([]byte) string{
		"base64":    base64.StdEncoding.EncodeToString,
		"base64url": base64.RawURLEncoding.EncodeToString,
		"hex":       hex.EncodeToString,
		"uuid":      func(b []byte) string { return uuid.UUID(b[:16]).String() },
		"base32":    base32.StdEncoding.EncodeToString,
	} {
		random := rand.New(rand.NewPCG(1, 2))
		groups := map[string]int{}
		for range 300 {
			bytes := make([]byte, 32)
			for i := range bytes {
				bytes[i] = byte(random.Uint32())
			}
			if name == "uuid" {
				bytes[6], bytes[8] = bytes[6]&0x0f|0x40, bytes[8]&0x3f|0x80
			}
			groups[fingerprint.Normalize("token "+token(bytes)+" expired")]++
		}
		if len(groups) != 1 {
			t.Errorf("%s: %d groups of 300: %v", name, len(groups), groups)
		}
	}
}

// Words are not taken for tokens, so that what says something else stays another
// group.
func TestWordsStayWords(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{2,12}`).Filter(func(s string) bool {
		return len(s) < 8 || strings.Trim(s, "abcdef") != ""
	})
	long := rapid.StringMatching(`[a-z]{3,9}`).Filter(func(s string) bool {
		return len(s) < 8 || strings.Trim(s, "abcdef") != ""
	})
	rapid.Check(t, func(t *rapid.T) {
		var parts []string
		for range rapid.IntRange(1, 8).Draw(t, "parts") {
			words := rapid.SliceOfN(long, 2, 5).Draw(t, "words")
			switch rapid.IntRange(0, 4).Draw(t, "form") {
			case 0: // camel case
				for i := range words {
					words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
				}
				parts = append(parts, strings.Join(words, ""))
			case 1: // a path
				parts = append(parts, "/"+strings.Join(words, "/"))
			case 2:
				parts = append(parts, strings.Join(words, "-"))
			case 3:
				parts = append(parts, strings.ToUpper(strings.Join(words, "_")))
			default:
				parts = append(parts, word.Draw(t, "word"))
			}
		}
		text := strings.Join(parts, " ")
		if got := fingerprint.Normalize(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

func TestEachPartOfAFailureMatters(t *testing.T) {
	stack := "goroutine 7 [running]:\nexample.org/shop.pay(0x1)\n\t/shop/pay.go:1 +0x1\n"
	seen := map[string]string{}
	for name, print := range map[string]string{
		"the failure": fingerprint.Of("max_attempts", "*fs.PathError", "open: denied", stack),
		"the reason":  fingerprint.Of("expired", "*fs.PathError", "open: denied", stack),
		"the type":    fingerprint.Of("max_attempts", "*net.OpError", "open: denied", stack),
		"the message": fingerprint.Of("max_attempts", "*fs.PathError", "open: gone", stack),
		"the place":   fingerprint.Of("max_attempts", "*fs.PathError", "open: denied", strings.Replace(stack, "pay", "ship", 1)),
		"the border":  fingerprint.Of("max_attempts", "*fs.PathErroro", "pen: denied", stack),
	} {
		if other, taken := seen[print]; taken {
			t.Errorf("%s does not matter: %s is the fingerprint of %s", name, print, other)
		}
		seen[print] = name
		if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(print) {
			t.Errorf("the fingerprint %q is not twelve digits", print)
		}
	}
	if got, want := fingerprint.Of("max_attempts", "*fs.PathError", "open: denied", stack), "20885ef1ac8e"; got != want {
		t.Errorf("the fingerprint is %s and was %s: what is in files is no longer found", got, want)
	}
}

func TestTheFrameIsTheFirstOfTheProgram(t *testing.T) {
	const head = "goroutine 12 [running]:\nruntime/debug.Stack()\n\t/go/src/runtime/debug/stack.go:26 +0x5e\n" +
		"github.com/busgen/busgen/runtime/internal/dispatch.(*Attempt).run.func1()\n\t/x/attempt.go:116 +0x1\n" +
		"panic({0x1, 0x2})\n\t/go/src/runtime/panic.go:860 +0x13a\nruntime.goPanicIndex(...)\n\t/go/src/runtime/panic.go:1\n"
	const tail = "\t/x/y.go:99 +0x1\ngithub.com/busgen/busgen/runtime.Subscribe[...].func1({0x1, 0x2}, 0x3)\n\t/x/subscribe.go:1 +0x1\n" +
		"created by github.com/busgen/busgen/runtime/internal/dispatch.(*Subscription).start in goroutine 1\n\t/x/z.go:1 +0x2\n"
	for _, test := range []struct{ line, want string }{
		{"main.handle(0x1, {0x2, 0x3})", "main.handle"},
		{"example.org/shop/v2.(*mailer).send(0xc000)", "example.org/shop/v2.(*mailer).send"},
		{"example.org/shop.first[go.shape.struct { example.org/other.X int }](...)", "example.org/shop.first[go.shape.struct { example.org/other.X int }]"},
		{"gopkg.in/yaml%2ev3.Unmarshal(...)", "gopkg.in/yaml%2ev3.Unmarshal"},
		{"github.com/busgen/busgen/runtime_test.TestX.func1(0x1)", "github.com/busgen/busgen/runtime_test.TestX.func1"},
		{"github.com/busgen/busgen/runtime/inspect_test.bury(0x1)", "github.com/busgen/busgen/runtime/inspect_test.bury"},
		{"runtimes.Boot()", "runtimes.Boot"},
		{"testing.tRunner(0x1)", ""},
		{"testing/synctest.Test.func1()", ""},
		{"github.com/busgen/busgen/runtime/inspect.Open()", ""},
	} {
		if got := fingerprint.Frame(head + test.line + "\n" + tail); got != test.want {
			t.Errorf("the frame of %s is %q, want %q", test.line, got, test.want)
		}
	}
	if got := fingerprint.Frame(""); got != "" {
		t.Errorf("no stack has the frame %q", got)
	}
}

func TestTheFrameOfARealPanicIsFound(t *testing.T) {
	var stack string
	func() {
		defer func() {
			recover()
			stack = string(debug.Stack())
		}()
		failing(nil)
	}()
	if got := fingerprint.Frame(stack); !strings.HasPrefix(got, "github.com/busgen/busgen/runtime/internal/fingerprint_test.") {
		t.Errorf("the frame is %q in\n%s", got, stack)
	}
}

func failing(numbers []int) int { return numbers[1] }
