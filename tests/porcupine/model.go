package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

const maxKeys = 4

// state is what each key holds; 0 is "no such key".
type state [maxKeys]int64

// pair is a key and a value.
type pair [2]int64

type operation struct {
	Client  int    `json:"client"`
	Call    int64  `json:"call"`
	Return  int64  `json:"return"`
	Kind    string `json:"kind"`
	Reads   []pair `json:"reads"`
	Writes  []pair `json:"writes"`
	Differs []pair `json:"differs"`
	// No client knows whether it happened: it may have, at any time after its call, or never.
	Unknown bool `json:"unknown"`
}

type history struct {
	Keys       int         `json:"keys"`
	Initial    []int64     `json:"initial"`
	Operations []operation `json:"operations"`

	line int
	text string
}

// validate refuses what the model would misunderstand.
func (h *history) validate() error {
	if h.Keys < 1 || h.Keys > maxKeys || len(h.Initial) != h.Keys || len(h.Operations) == 0 {
		return fmt.Errorf("a history of %d keys, %d initial values and %d operations", h.Keys,
			len(h.Initial), len(h.Operations))
	}
	for i, o := range h.Operations {
		if i > 0 && o.Call < h.Operations[i-1].Call {
			return fmt.Errorf("operation %d is out of order", i)
		}
		for _, list := range [][]pair{o.Reads, o.Writes, o.Differs} {
			for _, p := range list {
				if p[0] < 0 || p[0] >= int64(h.Keys) {
					return fmt.Errorf("%s of key %d, of %d", o.Kind, p[0], h.Keys)
				}
			}
		}
		if o.Call >= o.Return || !o.hasItsShape(h.Keys) {
			return fmt.Errorf("a %s can't be this: %+v", o.Kind, o)
		}
	}
	final := h.Operations[len(h.Operations)-1]
	for _, o := range h.Operations[:len(h.Operations)-1] {
		if final.Kind != "scan" || o.Return >= final.Call && !o.Unknown {
			return fmt.Errorf("the history does not end in a scan by itself")
		}
	}
	return nil
}

// hasItsShape tells whether the operation has what its kind needs, and nothing else.
func (o operation) hasItsShape(keys int) bool {
	reads, writes, differs := len(o.Reads), len(o.Writes), len(o.Differs)
	switch o.Kind {
	case "put":
		return reads == 0 && writes == 1 && differs == 0 && o.Writes[0][1] != 0
	case "delete":
		return reads == 0 && writes == 1 && differs == 0 && o.Writes[0][1] == 0
	case "batch":
		return reads == 0 && writes > 0 && differs == 0
	case "get":
		return reads == 1 && writes == 0 && differs == 0
	case "scan":
		return reads == keys && writes == 0 && differs == 0
	case "compare_and_swap", "put_if_absent":
		swapped := reads == 1 && writes == 1 && differs == 0 && o.Reads[0][0] == o.Writes[0][0]
		refused := reads == 0 && writes == 0 && differs == 1
		if o.Kind == "put_if_absent" && swapped && o.Reads[0][1] != 0 {
			return false
		}
		return swapped || refused
	}
	return false
}

// step is the map as one thread would see it.
func (o operation) step(before state) (bool, state) {
	after := before
	switch o.Kind {
	case "put", "delete", "batch":
		for _, w := range o.Writes {
			after[w[0]] = w[1]
		}
		return true, after
	case "get", "scan":
		for _, r := range o.Reads {
			if before[r[0]] != r[1] {
				return false, before
			}
		}
		return true, before
	}
	if len(o.Differs) == 1 {
		return before[o.Differs[0][0]] != o.Differs[0][1], before
	}
	if o.Unknown && before[o.Reads[0][0]] != o.Reads[0][1] {
		return true, before
	}
	after[o.Writes[0][0]] = o.Writes[0][1]
	return before[o.Reads[0][0]] == o.Reads[0][1], after
}

func modelFrom(initial []int64) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} {
			var first state
			copy(first[:], initial)
			return first
		},
		Step: func(before, input, _ interface{}) (bool, interface{}) {
			return input.(operation).step(before.(state))
		},
	}
}

func (h history) events() []porcupine.Operation {
	events := make([]porcupine.Operation, 0, len(h.Operations))
	end := h.end() + 1
	for i, o := range h.Operations {
		event := porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: o.Return}
		if o.Unknown {
			// Its client goes on meanwhile; it is one of its own here.
			event.ClientId, event.Return = unknownClients+i, end
		}
		events = append(events, event)
	}
	return events
}

const unknownClients = 1000

// hasUnknown tells whether what a doctor adds could be explained by an operation that is still open.
func (h history) hasUnknown() bool {
	for _, o := range h.Operations {
		if o.Unknown {
			return true
		}
	}
	return false
}
