package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
)

// ErrPassword is the error for a file that does not open without a password.
var ErrPassword = errors.New("the PDF is encrypted with a password")

// Limits of a file, far above what real ones have.
const (
	maxObjects = 8 << 20   // numbers of objects
	maxBudget  = 256 << 20 // bytes that opening a file, or reading a page, may unpack
	maxChain   = 1000      // cross-reference sections
	maxRefs    = 32        // references to references
	maxObject  = 16 << 20  // bytes of an object without those of its stream
)

// A File is an open PDF. It is not safe for concurrent use. It keeps the data that it was
// opened with; objects are read when they are needed, and kept until there are many.
type File struct {
	ctx     context.Context
	data    []byte
	xref    map[int]entry
	trailer dict
	crypt   *crypt
	cache   map[int]object
	packed  map[int][]packedObject // by the number of the object stream
	loading map[int]bool           // objects that are being read: a loop stops there
	fonts   map[any]*font          // by ref, where there is one
	pages   []dict
	spent   int  // bytes that were unpacked for this page
	parsed  int  // bytes of objects that were read
	mended  bool // whether the objects were found by their marks in the file
}

// An entry says where an object is: at an offset, or in an object stream. The zero entry is
// an object that was deleted: a later section says so, and older ones do not count.
type entry struct {
	offset int
	in     int // the object stream, if it is not 0; offset is the index in it
}

// A packedObject is one of an object stream.
type packedObject struct {
	num    int
	object object
}

// Open opens a PDF in memory. Reading ends when ctx is done, also in later calls of the
// file's methods. The header may stand after other bytes, from which offsets then count (as
// Acrobat reads it: ISO 32000-1, annex H.3). If the cross-reference table is broken, or leads
// to no page, the objects are found by their marks. data must not change as long as the file
// is used. The error is [ErrPassword] for a file that does not open with the empty password.
func Open(ctx context.Context, data []byte) (*File, error) {
	if i := bytes.Index(data, []byte("%PDF-")); i > 0 {
		data = data[i:]
	}
	f := &File{ctx: ctx, data: data}
	f.reset()
	err := f.readXref()
	if err == nil {
		err = f.ready()
	}
	if err == nil && len(f.pages) > 0 || errors.Is(err, ErrPassword) {
		return f, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if broken := f.mend(); broken != nil {
		return nil, broken
	}
	if err := f.ready(); err != nil {
		return nil, err
	}
	if len(f.pages) == 0 {
		return nil, errors.New("it has no pages")
	}
	return f, nil
}

// reset forgets all objects.
func (f *File) reset() {
	f.xref, f.trailer, f.crypt = make(map[int]entry), make(dict), nil
	f.forget()
}

// forget empties the caches.
func (f *File) forget() {
	f.cache, f.packed = make(map[int]object), make(map[int][]packedObject)
	f.loading, f.fonts = make(map[int]bool), make(map[any]*font)
}

// ready prepares decryption and the list of pages.
func (f *File) ready() error {
	if f.trailer["Encrypt"] != nil {
		if err := f.openCrypt(); err != nil {
			return err
		}
		f.forget() // strings that were read before
	}
	return f.readPages()
}

// NumPages returns the number of pages.
func (f *File) NumPages() int { return len(f.pages) }

// readXref reads the cross-reference sections from the last to the first (section 7.5.4 and
// 7.5.8): each update of a file appends one, which names the one before as Prev. A later one
// overrides an earlier one. A hybrid file also names a stream, XRefStm, which comes before
// Prev (section 7.5.8.4).
func (f *File) readXref() error {
	tail := max(0, len(f.data)-2048)
	i := bytes.LastIndex(f.data[tail:], []byte("startxref"))
	if i < 0 {
		return errors.New("no startxref")
	}
	l := lexer{data: f.data, pos: tail + i + len("startxref")}
	o, _ := l.next()
	at, ok := o.(int)
	seen := make(map[int]bool)
	queue := []int{at}
	for len(queue) > 0 {
		at, queue = queue[0], queue[1:]
		if !ok || at < 0 || at >= len(f.data) || len(seen) > maxChain {
			return errors.New("a broken cross-reference table")
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		d, err := f.section(at)
		if err != nil {
			return err
		}
		for k, v := range d {
			if _, has := f.trailer[k]; !has {
				f.trailer[k] = v
			}
		}
		for _, k := range []name{"XRefStm", "Prev"} {
			if n, ok := d[k].(int); ok {
				queue = append(queue, n)
			}
		}
	}
	if f.trailer["Root"] == nil {
		return errors.New("no catalog")
	}
	return nil
}

// section reads one cross-reference section, a table or a stream, and returns its trailer. A
// table has subsections: a first number and a count, and then for each object ten digits, five
// digits and n (in use) or f (free). The widths are not relied on.
func (f *File) section(at int) (dict, error) {
	l := &lexer{data: f.data, pos: at}
	o, _ := l.next()
	if o != keyword("xref") {
		l.pos = at
		_, o := f.definition(l, nil)
		s, ok := o.(*stream)
		if !ok {
			return nil, errors.New("a broken cross-reference table")
		}
		return s.dict, f.xrefStream(s)
	}
	for {
		o, ok := l.next()
		if !ok {
			return nil, errors.New("no trailer")
		}
		if o == keyword("trailer") {
			o, _ = l.next()
			d, ok := o.(dict)
			if !ok {
				return nil, errors.New("a broken trailer")
			}
			return d, nil
		}
		first, ok1 := o.(int)
		o, _ = l.next()
		count, ok2 := o.(int)
		if !ok1 || !ok2 || count < 0 {
			return nil, errors.New("a broken cross-reference table")
		}
		for i := range count {
			offset, _ := l.next()
			l.next() // the generation
			kind, ok := l.next()
			if !ok {
				return nil, errors.New("a broken cross-reference table")
			}
			if n, isInt := offset.(int); isInt && kind == keyword("n") && n > 0 {
				f.know(first+i, entry{offset: n})
			} else if kind == keyword("f") {
				f.know(first+i, entry{})
			} else if kind == keyword("trailer") {
				return nil, errors.New("a broken cross-reference table")
			}
		}
	}
}

// know adds an entry, unless a later section had one.
func (f *File) know(num int, e entry) {
	if _, has := f.xref[num]; !has && num >= 0 && num < maxObjects {
		f.xref[num] = e
	}
}

// xrefStream reads a cross-reference stream (section 7.5.8.2): W has the widths of three
// fields, Index pairs of first number and count. The first field is the kind (1 if it has no
// width): 0 free, 1 at an offset, 2 in an object stream, whose number and index follow.
func (f *File) xrefStream(s *stream) error {
	data, err := f.decode(s)
	if err != nil {
		return err
	}
	var w [3]int
	widths, _ := s.dict["W"].(array)
	for i := range w {
		if i < len(widths) {
			w[i], _ = widths[i].(int)
		}
		if w[i] < 0 || w[i] > 8 {
			return errSyntax
		}
	}
	size := w[0] + w[1] + w[2]
	index, _ := s.dict["Index"].(array)
	if index == nil {
		index = array{0, s.dict["Size"]}
	}
	if size == 0 {
		return errSyntax
	}
	field := func(b []byte) (n int) {
		for _, c := range b {
			n = n<<8 | int(c)
		}
		return n
	}
	for ; len(index) >= 2; index = index[2:] {
		first, _ := index[0].(int)
		count, _ := index[1].(int)
		for i := 0; i < count && len(data) >= size; i++ {
			kind := 1
			if w[0] > 0 {
				kind = field(data[:w[0]])
			}
			a, b := field(data[w[0]:w[0]+w[1]]), field(data[w[0]+w[1]:size])
			data = data[size:]
			switch {
			case kind == 1:
				f.know(first+i, entry{offset: a})
			case kind == 2 && a > 0:
				f.know(first+i, entry{offset: b, in: a})
			default:
				f.know(first+i, entry{})
			}
		}
	}
	return nil
}

// mend finds the objects by their marks, as "12 0 obj", for files that were cut off, edited by
// hand or damaged by a transfer as text. The last of a number counts, since updates are
// appended. Object streams are unpacked for what no mark gives; the catalog is found by its
// type if no trailer names it.
func (f *File) mend() error {
	f.reset()
	f.mended = true
	var streams []int
	var catalog object
	for at := 0; ; {
		if len(f.xref)&0xff == 0 && f.ctx.Err() != nil {
			return f.ctx.Err()
		}
		i := bytes.Index(f.data[at:], []byte("obj"))
		if i < 0 {
			break
		}
		at += i + 3
		num, start, ok := mark(f.data, at-3)
		if !ok || num >= maxObjects {
			continue
		}
		f.xref[num] = entry{offset: start}
		l := lexer{data: f.data[:min(len(f.data), at+1000)], pos: at}
		if o, _ := l.next(); o != nil {
			d, _ := o.(dict)
			switch d["Type"] {
			case name("Catalog"):
				catalog = ref{num, 0}
			case name("ObjStm"):
				streams = append(streams, num)
			case name("XRef"):
				f.addTrailer(d)
			}
		}
	}
	for at := 0; ; {
		i := bytes.Index(f.data[at:], []byte("trailer"))
		if i < 0 {
			break
		}
		at += i + len("trailer")
		l := lexer{data: f.data[:min(len(f.data), at+1<<16)], pos: at}
		if o, _ := l.next(); o != nil {
			d, _ := o.(dict)
			f.addTrailer(d)
		}
	}
	if f.trailer["Encrypt"] != nil {
		if err := f.openCrypt(); err != nil {
			return err
		}
	}
	for _, n := range streams {
		for i, p := range f.objectStream(n) {
			if _, has := f.xref[p.num]; !has && p.num < maxObjects {
				f.xref[p.num] = entry{offset: i, in: n}
			}
			if d, ok := p.object.(dict); ok && d["Type"] == name("Catalog") && catalog == nil {
				catalog = ref{p.num, 0}
			}
		}
	}
	if f.dict(f.trailer["Root"])["Pages"] == nil {
		f.trailer["Root"] = catalog
	}
	if len(f.xref) == 0 {
		return errors.New("it has no objects")
	}
	return f.ctx.Err()
}

// addTrailer takes what matters from a trailer that was found (table 15), the later over the
// earlier.
func (f *File) addTrailer(d dict) {
	for _, k := range []name{"Root", "Encrypt", "ID"} {
		if d[k] != nil {
			f.trailer[k] = d[k]
		}
	}
}

// mark reads backwards the two numbers before "obj" at a place. start is that of
// the first.
func mark(data []byte, at int) (num, start int, ok bool) {
	if at >= 3 && string(data[at-3:at]) == "end" {
		return 0, 0, false
	}
	read := func() (string, bool) {
		spaces := 0
		for at > 0 && isSpace(data[at-1]) {
			at--
			spaces++
		}
		end := at
		for at > 0 && end-at < 10 && data[at-1] >= '0' && data[at-1] <= '9' {
			at--
		}
		return string(data[at:end]), spaces > 0 && spaces < 20 && at < end
	}
	if _, ok = read(); !ok {
		return 0, 0, false
	}
	digits, ok := read()
	num, err := strconv.Atoi(digits)
	return num, at, ok && err == nil
}

// resolve follows references. A missing or broken object is nil.
func (f *File) resolve(o object) object {
	for range maxRefs {
		r, ok := o.(ref)
		if !ok {
			return o
		}
		o = f.load(r.num)
	}
	return nil
}

// load returns an object by its number, or nil if it is missing, broken, or is being loaded
// already: an object whose length is itself would never end. The generation in a reference is
// not compared, since the number alone decides in files that were written correctly.
func (f *File) load(num int) object {
	if o, ok := f.cache[num]; ok {
		return o
	}
	e, ok := f.xref[num]
	if !ok || f.loading[num] || f.ctx.Err() != nil {
		return nil
	}
	f.loading[num] = true
	defer delete(f.loading, num)
	var o object
	switch {
	case e.in != 0:
		all := f.objectStream(e.in)
		if e.offset < len(all) && all[e.offset].num == num {
			o = all[e.offset].object
			break
		}
		for _, p := range all {
			if p.num == num {
				o = p.object
			}
		}
	case e.offset > 0 && e.offset < len(f.data) || f.mended:
		l := &lexer{data: f.data, pos: e.offset}
		got, value := f.definition(l, f.crypt)
		if got == num {
			o = value
		}
	}
	f.cache[num] = o
	return o
}

// definition reads "1 0 obj … endobj" (section 7.3.10). The number is -1 if there is none. Its
// strings are decrypted with c, and so is its stream, unless it is a cross-reference stream
// (section 7.5.8.2). endobj is not looked for: some programs forget it.
func (f *File) definition(l *lexer, c *crypt) (int, object) {
	if f.parsed > maxParsed {
		return -1, nil
	}
	start := l.pos
	defer func() { f.parsed += l.pos - start }()
	l.data = l.data[:min(len(l.data), start+maxObject)]
	a, _ := l.next()
	b, _ := l.next()
	k, _ := l.next()
	num, ok1 := a.(int)
	gen, ok2 := b.(int)
	if !ok1 || !ok2 || k != keyword("obj") {
		return -1, nil
	}
	if c != nil {
		l.decrypt = func(b []byte) []byte { return c.decrypt(c.strings, num, gen, b) }
	}
	o, _ := l.next()
	// An object may be a reference, which next alone does not put together.
	if n, ok := o.(int); ok {
		at := l.pos
		g, _ := l.next()
		r, _ := l.next()
		if gen, ok := g.(int); ok && r == keyword("R") {
			return num, ref{n, gen}
		}
		l.pos = at
	}
	d, ok := o.(dict)
	if !ok {
		if _, isWord := o.(keyword); isWord {
			return num, nil
		}
		return num, o
	}
	if k, _ := l.next(); k != keyword("stream") {
		return num, d
	}
	l.data = f.data
	raw := f.streamBytes(l, d)
	if c != nil && d["Type"] != name("XRef") {
		raw = c.decrypt(c.streamMethod(f, d), num, gen, raw)
	}
	return num, &stream{d, raw}
}

// streamBytes returns the bytes of a stream, whose keyword was just read: as many as the
// dictionary says (section 7.3.8.2), if endstream follows, and else up to endstream. A wrong
// Length is the most frequent fault in files. The data is that of the file, not a copy.
func (f *File) streamBytes(l *lexer, d dict) []byte {
	at := l.pos
	if at < len(l.data) && l.data[at] == '\r' {
		at++
	}
	if at < len(l.data) && l.data[at] == '\n' {
		at++
	}
	if n, ok := f.resolve(d["Length"]).(int); ok && n >= 0 && n <= len(l.data)-at {
		after := lexer{data: l.data[:min(len(l.data), at+n+64)], pos: at + n}
		if k, _ := after.next(); k == keyword("endstream") {
			return l.data[at : at+n]
		}
	}
	end := bytes.Index(l.data[at:], []byte("endstream"))
	if end < 0 {
		end = len(l.data) - at
	}
	return bytes.TrimRight(l.data[at:at+end], "\r\n")
}

// objectStream returns the objects of an object stream (section 7.5.7): N pairs of a number
// and an offset, counted from First, where the objects stand without obj and endobj. Object
// streams in object streams are forbidden and not followed; their strings are not encrypted
// by themselves.
func (f *File) objectStream(num int) []packedObject {
	if all, ok := f.packed[num]; ok {
		return all
	}
	f.packed[num] = nil // a loop finds nothing
	if f.xref[num].in != 0 {
		return nil
	}
	s, ok := f.load(num).(*stream)
	if !ok {
		return nil
	}
	data, err := f.decode(s)
	if err != nil {
		return nil
	}
	n, _ := f.resolve(s.dict["N"]).(int)
	first, _ := f.resolve(s.dict["First"]).(int)
	head := lexer{data: data}
	var all []packedObject
	for i := 0; i < n && first >= 0; i++ {
		a, _ := head.next()
		b, ok := head.next()
		num, ok1 := a.(int)
		offset, ok2 := b.(int)
		if !ok || !ok1 || !ok2 || offset < 0 || offset > len(data)-first {
			break
		}
		body := lexer{data: data, pos: first + offset}
		if f.parsed > maxParsed {
			break
		}
		o, _ := body.next()
		f.parsed += body.pos - first - offset
		all = append(all, packedObject{num, o})
	}
	f.packed[num] = all
	delete(f.cache, num) // its bytes are not needed again
	return all
}

// dict returns a dictionary, or that of a stream, to which o may be a reference. It is nil for
// anything else, and reading a key of that gives nil: so chains of lookups need no checks.
func (f *File) dict(o object) dict {
	switch v := f.resolve(o).(type) {
	case dict:
		return v
	case *stream:
		return v.dict
	}
	return nil
}

// array returns an array, to which o may be a reference, or nil.
func (f *File) array(o object) array {
	a, _ := f.resolve(o).(array)
	return a
}

// name returns a name, to which o may be a reference, or "".
func (f *File) name(o object) name {
	n, _ := f.resolve(o).(name)
	return n
}

// number returns the value of a number. ok is false for anything else.
func (f *File) number(o object) (n float64, ok bool) {
	switch v := f.resolve(o).(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// MaxPages is how many pages a file may have.
const MaxPages = 100_000

// readPages lists the pages: by the tree of the catalog (section 7.7.3), with the four entries
// that they inherit (section 7.7.3.4) and their contents. A node is one with Kids, whatever its
// Type says. Nodes in circles are visited once, and Count is not believed.
func (f *File) readPages() error {
	catalog := f.dict(f.trailer["Root"])
	f.pages = nil
	seen := make(map[ref]bool)
	var walk func(o object, inherited dict, deep int) error
	walk = func(o object, inherited dict, deep int) error {
		if r, ok := o.(ref); ok {
			if seen[r] {
				return nil
			}
			seen[r] = true
		}
		d, ok := f.resolve(o).(dict)
		if !ok || deep > 100 {
			return nil
		}
		own := make(dict, len(d)+4)
		for _, k := range []name{"Resources", "MediaBox", "CropBox", "Rotate"} {
			if v, has := d[k]; has {
				own[k] = v
			} else if v, has := inherited[k]; has {
				own[k] = v
			}
		}
		kids := f.array(d["Kids"])
		if d["Kids"] == nil {
			own["Contents"], own["Annots"] = d["Contents"], d["Annots"]
			if f.pages = append(f.pages, own); len(f.pages) > MaxPages {
				return fmt.Errorf("it has more than %d pages", MaxPages)
			}
			return f.ctx.Err()
		}
		for _, k := range kids {
			if err := walk(k, own, deep+1); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(catalog["Pages"], nil, 0)
}
