package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	before "example.com/drill/before"
	older "example.com/drill/older"

	"github.com/busgen/busgen/runtime"
)

// row is one event that was published before the change.
type row struct {
	name    string
	shown   string // as a handler should get it
	publish func(bus *runtime.Bus, opts ...runtime.PublishOption) error
}

// of makes rows of payloads of one type.
func of[T any](name string, publish func(context.Context, runtime.Publisher, T, ...runtime.PublishOption) (*runtime.Receipt, error), payloads ...T) (rows []row) {
	for i, payload := range payloads {
		rows = append(rows, row{fmt.Sprintf("%s/%d", name, i+1), show(reflect.ValueOf(payload)), func(bus *runtime.Bus, opts ...runtime.PublishOption) error {
			_, err := publish(context.Background(), bus, payload, opts...)
			return err
		}})
	}
	return rows
}

// as says what handlers of the program before the change get, because it has other types.
func as(shown string, rows []row) []row {
	rows[0].shown = shown
	return rows
}

func join(all ...[]row) (rows []row) {
	for _, some := range all {
		rows = append(rows, some...)
	}
	return rows
}

var ward, never = "7", time.Time{}

var rowsOfOlder = join(
	as("BillSent{Cents:150}", of("bill.sent/older", older.PublishBillSent, older.BillSent{Amount: "150"})),
	as(`JobDone{Name:"sweep"}`, of("task.done", older.PublishTaskDone, older.TaskDone{Name: "sweep"})),
)

// Some of these values also decode as another type, and some do not.
var rowsOfBefore = join(
	of("alarm.raised", before.PublishAlarmRaised, before.AlarmRaised{Reason: "smoke"}),
	of("bill.sent", before.PublishBillSent, before.BillSent{Cents: 300}),
	of("blob.kept", before.PublishBlobKept, before.BlobKept{Data: []byte{0xff, 0, 1}}),
	of("code.given", before.PublishCodeGiven, before.CodeGiven{Code: 7}),
	of("count.taken", before.PublishCountTaken, before.CountTaken{N: 5}, before.CountTaken{N: -5}),
	of("job.done", before.PublishJobDone, before.JobDone{Name: "cook"}),
	of("money.kept", before.PublishMoneyKept, before.MoneyKept{Sum: before.Money{Amount: 1, Currency: "EUR"}}),
	of("money.moved", before.PublishMoneyMoved, before.MoneyMoved{Sum: before.Money{Amount: 2, Currency: "USD"}}),
	of("order.paid", before.PublishOrderPaid, before.OrderPaid{Payment: before.PaymentCard{LastFour: "4242"}}, before.OrderPaid{Payment: before.PaymentCash{}}),
	of("order.shipped", before.PublishOrderShipped,
		before.OrderShipped{Carrier: before.CarrierDHL, Grade: before.GradeLOW}, before.OrderShipped{Carrier: before.CarrierUPS, Grade: before.GradeHIGH}),
	of("parcel.sent", before.PublishParcelSent, before.ParcelSent{To: "Emma", Ward: &ward, Note: "fragile"}, before.ParcelSent{To: "Bo", Note: "5"}),
	of("scale.read", before.PublishScaleRead,
		before.ScaleRead{Grams: 5, Tags: []string{"a"}, Sides: map[string]int{"left": 1}}, before.ScaleRead{Grams: 1 << 40, Tags: []string{}, Sides: map[string]int{}}),
	of("sum.made", before.PublishSumMade, before.SumMade{Cents: 7}, before.SumMade{Cents: 1<<53 + 1}),
	of("time.kept", before.PublishTimeKept, before.TimeKept{At: &never}, before.TimeKept{}),
	of("word.said", before.PublishWordSaid, before.WordSaid{Word: "Emma"}, before.WordSaid{Word: "no base64!"}),
)

// yesterday makes the live file: each row once as a dead letter and once pending.
func yesterday(path string) {
	for _, program := range []struct {
		open      func(context.Context, string, ...runtime.Option) (*runtime.Bus, error)
		subscribe func(bus *runtime.Bus)
		rows      []row
	}{{older.Open, subscribeOlder, rowsOfOlder}, {before.Open, subscribeBefore, rowsOfBefore}} {
		for _, state := range []string{"dead", "pending"} {
			bus := open(program.open, path)
			if state == "dead" {
				refusing = true
				program.subscribe(bus)
				must(bus.Start(context.Background()))
			}
			for _, r := range program.rows {
				say(line{Row: r.name + " " + state, Handled: r.shown})
				must(r.publish(bus, runtime.WithCorrelationID(r.name+" "+state)))
			}
			if state == "dead" {
				must(bus.WaitIdle(context.Background()))
			}
			must(bus.Shutdown(context.Background()))
			refusing = false
		}
	}
}
