package sandbox

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// A bpf is a program of classic BPF that is being written. It has one register,
// the accumulator, into which load copies a word of struct seccomp_data;
// conditions look at it. See linux/filter.h and linux/seccomp.h.
type bpf []unix.SockFilter

func (b *bpf) add(code uint16, jt, jf uint8, k uint32) {
	*b = append(*b, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

// load copies a word of struct seccomp_data, mask keeps some of its bits, and
// always ends the program with a result.
func (b *bpf) load(offset uint32)   { b.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }
func (b *bpf) mask(bits uint32)     { b.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0, 0, bits) }
func (b *bpf) always(result uint32) { b.add(unix.BPF_RET|unix.BPF_K, 0, 0, result) }

// when returns result if the accumulator is k.
func (b *bpf) when(k, result uint32) {
	b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, k)
	b.always(result)
}

// unless returns result if the accumulator is not k.
func (b *bpf) unless(k, result uint32) {
	b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, k)
	b.always(result)
}

// ifAny returns result if any of the bits is set in the accumulator.
func (b *bpf) ifAny(bits, result uint32) {
	b.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 0, 1, bits)
	b.always(result)
}

// The rules say for the number of each system call which program decides about
// it. A call without a rule fails with ENOSYS.
type rules map[uint32]bpf

// call has rule decide about a system call by its arguments; what it does not
// decide is allowed. The first rule for a call stays.
func (r rules) call(number uintptr, rule func(*bpf)) {
	if _, there := r[uint32(number)]; there {
		return
	}
	var b bpf
	rule(&b)
	if n := len(b); b[n-1].Code != unix.BPF_RET|unix.BPF_K || n > 1 && b[n-2].Code&0x07 == unix.BPF_JMP {
		b.always(allow)
	}
	r[uint32(number)] = b
}

// all gives system calls a result whatever their arguments are.
func (r rules) all(result uint32, numbers ...uintptr) {
	for _, n := range numbers {
		r.call(n, func(b *bpf) { b.always(result) })
	}
}

// A branch decides about the numbers from first on, up to the next branch.
type branch struct {
	first uint32
	then  bpf
}

// tree returns a program that finds the rule of the loaded number by a binary
// search. A call without a rule has the result otherwise. The kernel runs a new
// filter once for every number; with a linear search that takes as long as making
// the rest of the sandbox.
func (r rules) tree(otherwise uint32) bpf {
	var nothing bpf
	nothing.always(otherwise)
	list := []branch{{0, nothing}}
	add := func(first uint32, then bpf) {
		last := &list[len(list)-1]
		switch {
		case last.first == first:
			last.then = then
		case !slices.Equal(last.then, then):
			list = append(list, branch{first, then})
		}
	}
	for _, n := range slices.Sorted(maps.Keys(r)) {
		add(n, r[n])
		if _, next := r[n+1]; !next {
			add(n+1, nothing)
		}
	}
	return search(list)
}

// search returns a binary search through the branches. A conditional jump
// reaches 255 instructions; a longer one takes two.
func search(list []branch) bpf {
	if len(list) == 1 {
		return list[0].then
	}
	middle := len(list) / 2
	below, above := search(list[:middle]), search(list[middle:])
	var b bpf
	if n := len(below); n <= 255 {
		b.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, uint8(n), 0, list[middle].first)
	} else {
		b.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 0, 1, list[middle].first)
		b.add(unix.BPF_JMP|unix.BPF_JA, 0, 0, uint32(n))
	}
	return slices.Concat(b, below, above)
}
