package main

import (
	"encoding/json"
	"testing"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime/gen/wire"
)

// These compare generated payloads with what encoding/json does with them.

func BenchmarkEncode(b *testing.B) {
	codec := wire.NewCodec[events.OrderPlaced]()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.Encode(sample); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeReflected(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(&sample); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	codec := wire.NewCodec[events.OrderPlaced]()
	encoded, err := codec.Encode(sample)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.Decode(encoded); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeReflected(b *testing.B) {
	encoded, err := json.Marshal(sample)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var value events.OrderPlaced
		if err := json.Unmarshal(encoded, &value); err != nil {
			b.Fatal(err)
		}
	}
}
