package cloudevents

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime"
)

// Webhook is where [Forward] sends events to.
type Webhook struct {
	// URL is where each event is posted to: absolute, of the scheme https or http. Its user
	// and password are sent as basic authentication.
	URL string
	// Secrets sign each request as Standard Webhooks do (https://www.standardwebhooks.com), with
	// HMAC-SHA256 over id, time and body: each secret is whsec_ and 24 to 64 random bytes in
	// base64. A request has a signature by each of them, so a secret can be replaced: add the
	// new one, let the receiver change, remove the old one. Without secrets nothing is signed.
	Secrets []string
	// Binary sends the attributes as headers and the payload as the body. Otherwise both are in
	// the body, in structured mode. It does not go with Secrets, because they sign the body only.
	Binary bool
	// Origin asks the receiver for permission before anything is sent, and again after an hour: the
	// handshake of the webhook specification, an OPTIONS request with this name of the program, such as
	// shop.example. As long as the receiver does not permit it, attempts fail with a
	// *[PermissionError]. The rate that the receiver permits is kept: events wait for their turn.
	// Each request says the origin. Empty for no handshake.
	Origin string
	// Rate is how many requests per minute the handshake asks for; 0 for what the receiver permits.
	Rate int
	// PublicOnly refuses to connect to addresses that are not public: those of this
	// machine, of private networks, of link-local services and others. The address is checked when
	// the connection is made, so no name can lead around it. Set it for URLs that come from
	// outside of the program. It does not go with Client, and uses neither a proxy nor anything that
	// the program has made of [http.DefaultTransport].
	PublicOnly bool
	// Header is sent with each request, for example Authorization. It cannot have what the request
	// itself says: Content-Type and the like, attributes of events, signatures.
	Header http.Header
	// Client makes the requests, [http.DefaultTransport] by default. Redirects are not followed
	// whatever it says, and its cookies are not used.
	Client *http.Client
	// Timeout limits one request, 30 s by default. The timeout of the attempt holds, too.
	Timeout time.Duration
}

// WebhookError says what is wrong with a [Webhook], or that the catalogue has no source.
type WebhookError struct {
	URL     string // without a password and a query
	Problem string
}

// Error names the webhook.
func (e *WebhookError) Error() string { return fmt.Sprintf("webhook %s: %s", e.URL, e.Problem) }

// forwarder sends events to a webhook.
type forwarder struct {
	bus     *runtime.Bus
	name    string                               // of the subscription
	sub     atomic.Pointer[runtime.Subscription] // nil for a moment
	names   runtime.CloudEvents
	keys    map[string]string // the fields with the partition keys, by event type
	to      Webhook
	shown   string
	secrets [][]byte
	client  http.Client
	permit  permit
}

func newForwarder(bus *runtime.Bus, name string, to Webhook) (*forwarder, error) {
	if bus == nil {
		return nil, errors.New("forward: the bus is nil")
	}
	f := &forwarder{bus: bus, name: name, names: bus.Catalogue().CloudEvents(), keys: map[string]string{}, to: to, shown: "-", permit: permit{busy: make(chan struct{}, 1)}}
	refuse := func(problem string) (*forwarder, error) { return nil, &WebhookError{URL: f.shown, Problem: problem} }
	uri, err := url.Parse(to.URL)
	if err != nil {
		return refuse("the URL cannot be read") // the error has the password
	}
	bare := *uri
	bare.RawQuery, bare.Fragment = "", "" // which may have a token
	f.shown = bare.Redacted()
	if f.secrets, err = parseSecrets(to.Secrets); err != nil {
		return refuse(err.Error())
	}
	problem := ""
	if f.to.Header, problem = ownHeader(to.Header); problem != "" {
		return refuse(problem)
	}
	switch {
	case uri.Scheme != "https" && uri.Scheme != "http" || uri.Host == "":
		return refuse("the URL is not absolute, of the scheme https or http")
	case f.names.Source == "":
		return refuse("the catalogue has no source: add cloudevents to it, or call WithCloudEvents")
	case to.Binary && len(f.secrets) > 0:
		return refuse("Secrets sign the body, which has no attributes in binary mode: leave out Binary")
	case to.PublicOnly && to.Client != nil:
		return refuse("PublicOnly has a client of its own: leave out Client")
	case to.Timeout < 0:
		return refuse("the Timeout is negative")
	case to.Origin != "" && !isOrigin(to.Origin):
		return refuse("the Origin is not the name of a host, such as shop.example")
	case to.Rate < 0, to.Rate > 0 && to.Origin == "":
		return refuse("the Rate is a positive number of requests per minute, and belongs to an Origin")
	}
	if to.Client != nil {
		f.client = *to.Client
	}
	if to.PublicOnly {
		f.client.Transport = publicTransport()
	}
	f.client.Jar = nil
	f.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	f.to.Timeout = cmp.Or(to.Timeout, 30*time.Second)
	for _, t := range bus.Catalogue().Types() {
		f.keys[t.Name()] = keyField(t.Schema())
	}
	return f, nil
}

// ownHeaders are those that a request says itself, or that belong to its connection.
var ownHeaders = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Te", "Trailer", "Connection", "Keep-Alive", "Upgrade",
	"Proxy-Connection", "Expect", "Host", headerID, headerTimestamp, headerSignature, headerOrigin, headerRate, headerCallback,
}

// ownHeader returns the headers of a program in their canonical form, or says what is wrong with them. It does
// not show values, which can be secrets.
func ownHeader(given http.Header) (header http.Header, problem string) {
	header = http.Header{}
	for name, values := range given {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !isToken(name):
			return nil, fmt.Sprintf("the Header has the name %.40q, which no header can have", name)
		case slices.Contains(ownHeaders, canonical), strings.HasPrefix(canonical, prefix):
			return nil, fmt.Sprintf("the Header has %s, which the request says itself: leave it out", canonical)
		case header[canonical] != nil:
			return nil, fmt.Sprintf("the Header has %s twice, written in different ways", canonical)
		}
		for _, value := range values {
			if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7F }) {
				return nil, fmt.Sprintf("the Header %s has a value with control characters, such as the end of a line", canonical)
			}
		}
		header[canonical] = slices.Clone(values)
	}
	return header, ""
}

// isToken tells whether a text can be the name of a header.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
