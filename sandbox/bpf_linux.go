package sandbox

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// A bpf is a program in classic BPF under construction, which looks at what was
// loaded last.
type bpf []unix.SockFilter

func (b *bpf) add(code uint16, jt, jf uint8, k uint32) {
	*b = append(*b, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (b *bpf) load(offset uint32)   { b.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }
func (b *bpf) mask(bits uint32)     { b.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0, 0, bits) }
func (b *bpf) always(result uint32) { b.add(unix.BPF_RET|unix.BPF_K, 0, 0, result) }

// when returns result if what is loaded is k.
func (b *bpf) when(k, result uint32) {
	b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, k)
	b.always(result)
}

// unless returns result if what is loaded is not k.
func (b *bpf) unless(k, result uint32) {
	b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, k)
	b.always(result)
}

// ifAny returns result if any of the bits is set in what is loaded.
func (b *bpf) ifAny(bits, result uint32) {
	b.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 0, 1, bits)
	b.always(result)
}

// rules say, for the number of a system call, which program rules on it. What
// is not there fails with ENOSYS.
type rules map[uint32]bpf

// call has one system call ruled on by what rule says of its arguments; where
// that says nothing it is allowed. The first rule for a call stays.
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

// all has system calls ruled on with a result whatever their arguments are.
func (r rules) all(result uint32, numbers ...uintptr) {
	for _, n := range numbers {
		r.call(n, func(b *bpf) { b.always(result) })
	}
}

// A branch is what rules on the numbers from first on, up to the next branch.
type branch struct {
	first uint32
	then  bpf
}

// tree finds the rule for the number that was loaded in a few steps: the
// kernel walks through the program for every number when it takes a filter,
// which with a list takes as long as the rest of the sandbox does.
func (r rules) tree() bpf {
	var nothing bpf
	nothing.always(none)
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

// search is a binary search through the branches.
func search(list []branch) bpf {
	if len(list) == 1 {
		return list[0].then
	}
	middle := len(list) / 2
	below, above := search(list[:middle]), search(list[middle:])
	var b bpf
	if n := len(below); n <= 255 {
		b.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, uint8(n), 0, list[middle].first)
	} else { // farther than a condition reaches
		b.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 0, 1, list[middle].first)
		b.add(unix.BPF_JMP|unix.BPF_JA, 0, 0, uint32(n))
	}
	return slices.Concat(b, below, above)
}
