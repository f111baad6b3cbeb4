package bind

import (
	"context"
	"fmt"
	"reflect"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
)

// Answer is [runtime.SubscribeAnswer]. handler is a [runtime.AnswerHandler] for payloads of t, and call calls it
// with an event, as that of [Subscribe] does.
//
//go:noinline
func Answer(bus *runtime.Bus, t runtime.Definition, name string, handler any, call func(ctx context.Context, handler, event any) (any, error), opts []runtime.SubscribeOption) (*runtime.Subscription, error) {
	events := eventsFor("Answer", handler, 2)
	events.mustBe("Answer", t, handler)
	return inner.Answer(bus, t, name, reflect.ValueOf(handler).IsNil(), reflect.TypeOf(handler).Out(0), func(ctx context.Context, h runtime.Head, payload any) (answer any, err error) {
		err = events.with(h, reflect.ValueOf(payload).Elem(), func(event any) (err error) {
			answer, err = call(ctx, handler, event)
			return err
		})
		return answer, err
	}, opts)
}

// Request is [runtime.Request]. payload is as that of [Publish], and answers a nil pointer to
// the type of answers. Without an error the result is such an answer; it is nil if that is an interface that is nil.
//
//go:noinline
func Request(ctx context.Context, bus *runtime.Bus, t runtime.Definition, payload, answers any, opts []runtime.PublishOption) (answer any, err error) {
	return inner.Request(ctx, bus, t, copied("Request", t, payload), reflect.TypeOf(answers).Elem(), opts)
}

// Collect is [runtime.Collect]. payload is as that of [Publish], and answers a pointer to a
// list of [ask.Answer], which becomes the list that runtime.Collect returns. Collect panics if answers is anything
// else.
//
//go:noinline
func Collect(ctx context.Context, bus *runtime.Bus, t runtime.Definition, payload, answers any, opts []runtime.CollectOption) error {
	list := answerList(answers)
	all, err := inner.Collect(ctx, bus, t, copied("Collect", t, payload), list.Type().Elem().Field(1).Type, opts)
	if all == nil {
		return err
	}
	list.Set(reflect.MakeSlice(list.Type(), len(all), len(all)))
	for i, a := range all {
		answer := list.Index(i)
		answer.Field(0).SetString(a.Subscription)
		if a.Value != nil { // which is a nil interface
			answer.Field(1).Set(reflect.ValueOf(a.Value))
		}
	}
	return err
}

// answerList returns what a pointer to a list of [ask.Answer] points to.
func answerList(pointer any) reflect.Value {
	if p := reflect.ValueOf(pointer); p.Kind() == reflect.Pointer && !p.IsNil() {
		if t := p.Type().Elem(); t.Kind() == reflect.Slice && isMade(t.Elem(), reflect.TypeFor[ask.Answer[any]]()) {
			return p.Elem()
		}
	}
	panic(fmt.Sprintf("bind.Collect: a %v is no pointer to a list of answers", reflect.TypeOf(pointer)))
}
