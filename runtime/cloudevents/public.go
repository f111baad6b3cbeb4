package cloudevents

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// publicTransport connects to public addresses only. It looks at the address that a name has led
// to, when the connection is made.
func publicTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !isPublic(to.Addr()) {
			return fmt.Errorf("%s is not a public address, and PublicOnly is set", address)
		}
		return nil
	}}
	// Not a clone of the default one: that can have a function that dials another way.
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second,
	}
}

// notPublic are networks besides those that package netip tells: shared, for tests and
// documentation, for protocols, reserved; and those of IPv6 in which addresses of IPv4 hide.
var notPublic = func() (all []netip.Prefix) {
	for _, network := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(network))
	}
	return all
}()

func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, network := range notPublic {
		if network.Contains(a) {
			return false
		}
	}
	return true
}
