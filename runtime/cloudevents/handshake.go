package cloudevents

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// AllowOrigins answers the handshake of the webhook specification: senders ask with OPTIONS, and with a name in
// the header WebHook-Request-Origin, whether they may send events here. Those with one of these names may; "*"
// stands for all. Others are refused with status 403, and so are their events, if they say where they are from.
// That protects receivers from unwanted events; it is no authentication. Without it OPTIONS is refused with
// 405, and senders that ask send nothing. Receive panics if a name is neither that of a host nor "*".
func AllowOrigins(origins ...string) ReceiveOption {
	return func(h *receiver) {
		if h.origins = slices.Clone(origins); len(origins) == 0 {
			h.problem = errors.New("AllowOrigins: there is no origin")
		}
		for _, one := range origins {
			if one != "*" && !isOrigin(one) {
				h.problem = fmt.Errorf("AllowOrigins: %.100q is neither the name of a host nor *", one)
			}
		}
	}
}

// AllowRate is how many requests per minute the answer to a handshake permits each sender; no limit by default.
// It must be positive. The handler does not count them.
func AllowRate(perMinute int) ReceiveOption {
	return func(h *receiver) {
		if h.rate = strconv.Itoa(perMinute); perMinute <= 0 {
			h.problem = errors.New("AllowRate: the rate is not positive")
		}
	}
}

// permits tells whether the handler answers handshakes.
func (h *receiver) permits() bool { return len(h.origins) > 0 }

// permit answers the handshake of a sender.
func (h *receiver) permit(w http.ResponseWriter, r *http.Request) error {
	if err := h.originOf(r); err != nil {
		return err
	}
	header := w.Header()
	header.Set("Allow", h.methods())
	if origin := r.Header.Get(headerOrigin); origin != "" {
		header.Set(headerAllowedOrigin, origin)
		header.Set(headerAllowedRate, h.rate)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// originOf refuses a request of an origin that is not allowed.
func (h *receiver) originOf(r *http.Request) error {
	given := r.Header.Values(headerOrigin)
	if !h.permits() || len(given) == 0 {
		return nil
	}
	allowed := func(one string) bool { return one == "*" || strings.EqualFold(one, given[0]) }
	if len(given) > 1 || !isOrigin(given[0]) || !slices.ContainsFunc(h.origins, allowed) {
		return &Refusal{Status: http.StatusForbidden, Kind: KindForbidden, Index: -1,
			Err: fmt.Errorf("events of %.100q are not wanted here", strings.Join(given, ", "))}
	}
	return nil
}

// methods are those that the handler knows, for the header Allow.
func (h *receiver) methods() string {
	if h.permits() {
		return "OPTIONS, POST"
	}
	return http.MethodPost
}
