// Package format knows the formats that the catalogue language has for texts, and
// decimal numbers. The tool and the runtime share it, so that both take the same
// texts.
package format

import (
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

type textFormat struct {
	name  string
	noun  string // what a text of the format is
	valid func(string) bool
}

// known are the formats in the order in which the reference lists them.
var known = []textFormat{
	{"email", "an email address", isEmail},
	{"url", "an absolute URL", isURL},
	{"hostname", "a host name", isHostname},
	{"ip", "an IP address", func(s string) bool { return isIP(s, netip.Addr.IsValid) }},
	{"ipv4", "an IPv4 address", func(s string) bool { return isIP(s, netip.Addr.Is4) }},
	{"ipv6", "an IPv6 address", func(s string) bool { return isIP(s, netip.Addr.Is6) }},
	{"cidr", "an address range such as 10.0.0.0/8", isCIDR},
}

// Names lists the formats.
func Names() []string {
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
	}
	return names
}

// Check tells whether text has the format of that name, and what such a text is
// called: "an email address". A format that is not known takes no text.
func Check(name, text string) (noun string, ok bool) {
	i := slices.IndexFunc(known, func(f textFormat) bool { return f.name == name })
	if i < 0 {
		return "of format " + name + ", which is not known", false
	}
	return known[i].noun, known[i].valid(text)
}

// isEmail takes an address without a name in front and without angle brackets. The part before the @ may also be as
// some providers have it against the standard, such as 1+app[bot]@users.example or a..b@mail.example.
func isEmail(text string) bool {
	at := strings.LastIndexByte(text, '@')
	if at < 1 {
		return false
	}
	local := text[:at]
	if local[0] != '"' && !strings.ContainsFunc(local, notInEmail) {
		text = "x" + text[at:]
	}
	address, err := mail.ParseAddress(text)
	return err == nil && address.Name == "" && strings.Trim(address.String(), "<>") == text
}

func notInEmail(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`()<>",;:\@`, c) }

// isURL asks for a scheme and a host, as in https://example.org.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != ""
}

// isHostname follows RFC 1123: labels of letters, digits and inner hyphens.
func isHostname(text string) bool {
	if len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, notInHostname) {
			return false
		}
	}
	return true
}

func notInHostname(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-')
}

func isIP(text string, of func(netip.Addr) bool) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == "" && of(address)
}

func isCIDR(text string) bool {
	_, err := netip.ParsePrefix(text)
	return err == nil
}
