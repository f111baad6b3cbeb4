package templates

import "testing"

func TestAnswerFunctionsCallNoGenericFunction(t *testing.T) {
	c := parsed(t, `
types:
  Money: { fields: { amount: int64 } }
events:
  quote.requested:
    timeout: 1s
    retry: { max_attempts: 1 }
    breaker: off
    result: { type: "Money?", doc: The price. }
  order.placed: {}
`)
	emits(t, `
// AnswerQuoteRequested calls handler for every quote.requested, as the
// subscription called name, and hands its results to the callers of
// RequestQuoteRequested and CollectQuoteRequested. [QuoteRequestedType] has its
// settings. See [runtime.SubscribeAnswer].
//
// The price.
func AnswerQuoteRequested(bus *runtime.Bus, name string, handler runtime.AnswerHandler[QuoteRequested, *Money], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return bind.Answer(bus, QuoteRequestedType, name, handler, func(ctx context.Context, handler, e any) (any, error) {
		return handler.(runtime.AnswerHandler[QuoteRequested, *Money])(ctx, *e.(*runtime.Event[QuoteRequested]))
	}, opts)
}

// RequestQuoteRequested publishes one quote.requested and returns the first
// answer to it. See [runtime.Request].
//
// The price.
func RequestQuoteRequested(ctx context.Context, bus *runtime.Bus, payload QuoteRequested, opts ...runtime.PublishOption) (*Money, error) {
	value, err := bind.Request(ctx, bus, QuoteRequestedType, &payload, (**Money)(nil), opts)
	answer, _ := value.(*Money)
	return answer, err
}

// CollectQuoteRequested publishes one quote.requested and returns all answers
// to it. See [runtime.Collect].
func CollectQuoteRequested(ctx context.Context, bus *runtime.Bus, payload QuoteRequested, opts ...runtime.CollectOption) ([]ask.Answer[*Money], error) {
	var answers []ask.Answer[*Money]
	err := bind.Collect(ctx, bus, QuoteRequestedType, &payload, &answers, opts)
	return answers, err
}
`, answers(c)...)
}
