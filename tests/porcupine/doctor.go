package main

import "github.com/anishathalye/porcupine"

// A doctor adds operations behind the end of a history. A history ends in a scan that nothing runs
// beside: what the keys hold then is known, and so is the verdict on what is added.
type doctor struct {
	name    string
	verdict porcupine.CheckResult
	apply   func(history) history
}

const unheard = int64(1) << 40 // no history has values as high as this

var doctors = []doctor{
	{"an honest swap", porcupine.Ok, func(h history) history {
		return h.then(h.swap(0, h.last(0)), h.get(0, unheard))
	}},
	{"a swap from a value that is not there", porcupine.Illegal, func(h history) history {
		return h.then(h.swap(0, unheard+1))
	}},
	{"a refusal though the value is there", porcupine.Illegal, func(h history) history {
		return h.then(h.refusal(0, h.last(0)))
	}},
	{"an honest refusal", porcupine.Ok, func(h history) history {
		return h.then(h.refusal(0, unheard))
	}},
	{"two swaps from one value", porcupine.Illegal, func(h history) history {
		return h.side(h.swap(0, h.last(0)), h.swap(0, h.last(0)))
	}},
	{"a value that nobody wrote", porcupine.Illegal, func(h history) history {
		return h.then(h.get(h.Keys-1, unheard+1))
	}},
	{"a lost put", porcupine.Illegal, func(h history) history {
		return h.then(h.put(0, unheard), h.get(0, h.last(0)))
	}},
	{"a key that is back after its delete", porcupine.Illegal, func(h history) history {
		return h.then(h.put(0, unheard), h.put(0, 0), h.get(0, unheard))
	}},
	{"a put seen, then not seen", porcupine.Illegal, func(h history) history {
		put := h.put(0, unheard)
		put.Return += 100
		return h.then(put, h.get(0, unheard), h.get(0, h.last(0)))
	}},
	{"an honest put beside two gets", porcupine.Ok, func(h history) history {
		put := h.put(0, unheard)
		put.Return += 100
		return h.then(put, h.get(0, h.last(0)), h.get(0, unheard))
	}},
	{"half a batch in a scan", porcupine.Illegal, func(h history) history {
		if h.Keys < 2 {
			return h.then(h.get(0, unheard))
		}
		batch := h.put(0, unheard)
		batch.Kind = "batch"
		batch.Writes = append(batch.Writes, pair{1, unheard})
		scan := h.scan()
		scan.Reads[0][1] = unheard
		return h.side(batch, scan)
	}},
}

// last is what the scan at the end saw of the key.
func (h history) last(key int) int64 {
	for _, read := range h.Operations[len(h.Operations)-1].Reads {
		if read[0] == int64(key) {
			return read[1]
		}
	}
	return 0
}

func (h history) put(key int, value int64) operation {
	kind := "put"
	if value == 0 {
		kind = "delete"
	}
	return operation{Kind: kind, Writes: []pair{{int64(key), value}}}
}

func (h history) get(key int, value int64) operation {
	return operation{Kind: "get", Reads: []pair{{int64(key), value}}}
}

func (h history) swap(key int, expected int64) operation {
	return operation{Kind: "compare_and_swap", Reads: []pair{{int64(key), expected}},
		Writes: []pair{{int64(key), unheard}}}
}

func (h history) refusal(key int, expected int64) operation {
	return operation{Kind: "compare_and_swap", Differs: []pair{{int64(key), expected}}}
}

func (h history) scan() operation {
	scan := operation{Kind: "scan"}
	for key := 0; key < h.Keys; key++ {
		scan.Reads = append(scan.Reads, pair{int64(key), h.last(key)})
	}
	return scan
}

// then appends operations, each after the one before has returned. A Return that is set already
// is so much longer.
func (h history) then(more ...operation) history {
	at := h.end()
	for i := range more {
		more[i].Call = at + 1
		more[i].Return += at + 2
		at += 2
	}
	return h.with(more)
}

// side appends operations that all overlap.
func (h history) side(more ...operation) history {
	for i := range more {
		more[i].Call = h.end() + 1
		more[i].Return = h.end() + 2
	}
	return h.with(more)
}

func (h history) end() int64 {
	end := int64(0)
	for _, o := range h.Operations {
		if o.Return > end {
			end = o.Return
		}
	}
	return end
}

func (h history) with(more []operation) history {
	for i := range more {
		more[i].Client = 100 + i
	}
	h.Operations = append(append([]operation{}, h.Operations...), more...)
	return h
}
