package pdf

import (
	"bytes"
	"compress/flate"
	"compress/lzw"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"errors"
	"fmt"
	"io"

	"github.com/openmanus-go/openmanus/internal/ctxio"
)

// maxStream is how many bytes a stream may unpack to. Deflate packs zeros 1,000 to 1, so a
// small file could ask for all memory.
const maxStream = 64 << 20

// errTooMuch is the error for what unpacks to more than is allowed.
var errTooMuch = fmt.Errorf("it unpacks to more than %d MiB", maxStream>>20)

// errPicture is the error for streams that hold a picture: filters for JPEG, JPEG 2000, JBIG2
// and fax, and whatever else is not known, have no text in them.
var errPicture = errors.New("a picture")

// decode applies the filters of a stream (section 7.4). If the stream is
// broken, it returns the bytes before the fault, and an error only if there are
// none.
func (f *File) decode(s *stream) ([]byte, error) {
	names, params := f.list(s.dict, "Filter", "F"), f.list(s.dict, "DecodeParms", "DP")
	if len(names) > 8 {
		return nil, errors.New("too many filters")
	}
	data := s.raw
	for i, o := range names {
		filter, _ := f.resolve(o).(name)
		var param dict
		if i < len(params) {
			param, _ = f.resolve(params[i]).(dict)
		}
		var err error
		if data, err = f.filter(filter, data, param); err != nil {
			return nil, err
		}
		if f.spent += len(data); f.spent > maxBudget {
			return nil, errTooMuch
		}
	}
	return data, nil
}

// list returns the value of the first key that there is as an array; one object is
// an array of one.
func (f *File) list(d dict, keys ...name) array {
	for _, k := range keys {
		switch v := f.resolve(d[k]).(type) {
		case nil:
		case array:
			return v
		default:
			return array{v}
		}
	}
	return nil
}

// filter applies one filter, by its name or the short one of inline images (table 6 and
// table 94). Predictors belong to Flate and LZW alone.
func (f *File) filter(filter name, data []byte, param dict) ([]byte, error) {
	switch filter {
	case "FlateDecode", "Fl":
		out, err := inflate(f.ctx, data)
		if err != nil {
			return nil, err
		}
		return f.predict(out, param)
	case "LZWDecode", "LZW":
		early := true
		if n, ok := f.resolve(param["EarlyChange"]).(int); ok && n == 0 {
			early = false
		}
		out, err := unLZW(f.ctx, data, early)
		if err != nil {
			return nil, err
		}
		return f.predict(out, param)
	case "ASCII85Decode", "A85":
		return unASCII85(data), nil
	case "ASCIIHexDecode", "AHx":
		l := lexer{data: data}
		return l.hex(), nil
	case "RunLengthDecode", "RL":
		return unRunLength(data)
	case "Crypt":
		return data, nil
	}
	return nil, errPicture
}

// most reads src up to maxStream bytes. A fault in it ends it.
func most(ctx context.Context, src io.Reader) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(ctxio.NewReader(ctx, src), maxStream+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(out) > maxStream:
		return nil, errTooMuch
	case len(out) == 0 && err != nil:
		return nil, err
	}
	return out, nil
}

// inflate unpacks data of the zlib format (RFC 1950). Some programs write a broken header, or
// line ends before it; then what follows two bytes is taken for plain deflate (RFC 1951).
func inflate(ctx context.Context, data []byte) ([]byte, error) {
	data = bytes.TrimLeft(data, "\r\n")
	if z, err := zlib.NewReader(bytes.NewReader(data)); err == nil {
		return most(ctx, z)
	}
	if len(data) < 2 {
		return nil, nil
	}
	return most(ctx, flate.NewReader(bytes.NewReader(data[2:])))
}

// unASCII85 decodes base 85 up to its end mark ~> (section 7.4.3). After a fault it returns
// what came before.
func unASCII85(data []byte) []byte {
	if i := bytes.Index(data, []byte("~")); i >= 0 {
		data = data[:i]
	}
	out := make([]byte, len(data)*4+4) // a z stands for four bytes
	n, _, _ := ascii85.Decode(out, data, true)
	return out[:n]
}

// unRunLength unpacks the filter of section 7.4.5: a byte below 128 is followed by one more
// bytes than it says, one above by a byte that is repeated 257 minus that often; 128 ends.
func unRunLength(data []byte) ([]byte, error) {
	var out []byte
	for i := 0; i < len(data) && data[i] != 128; {
		n := int(data[i])
		i++
		if n < 128 {
			end := min(i+n+1, len(data))
			out = append(out, data[i:end]...)
			i = end
		} else if i < len(data) {
			out = append(out, bytes.Repeat(data[i:i+1], 257-n)...)
			i++
		}
		if len(out) > maxStream {
			return nil, errTooMuch
		}
	}
	return out, nil
}

// unLZW unpacks the filter of section 7.4.4. The library's form changes the width of codes
// one code later than PDF's usual form (EarlyChange 1) does, so that one is written out here:
// 256 clears the table, 257 ends, and others stand for a sequence: an older one and a byte,
// which is kept as such, so that the table stays small however long sequences become. A
// broken code ends the data.
func unLZW(ctx context.Context, data []byte, early bool) ([]byte, error) {
	if !early {
		return most(ctx, lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8))
	}
	type entry struct {
		prev int
		last byte
		size int
	}
	var table [4096]entry
	for i := range 256 {
		table[i] = entry{-1, byte(i), 1}
	}
	var out []byte
	next, width, prev := 258, 9, -1
	bits, have := 0, 0
	for _, c := range data {
		bits, have = bits<<8|int(c), have+8
		if have < width {
			continue
		}
		have -= width
		code := bits >> have
		bits &= 1<<have - 1
		if code == 257 {
			break
		}
		if code == 256 {
			next, width, prev = 258, 9, -1
			continue
		}
		if code > next || code == next && prev < 0 || code >= 4096 {
			break // broken
		}
		if prev >= 0 && next < 4096 {
			table[next] = entry{prev, 0, table[prev].size + 1}
			first := code
			if code == next {
				first = prev
			}
			for table[first].prev >= 0 {
				first = table[first].prev
			}
			table[next].last = table[first].last
			next++
		}
		size := table[code].size
		if len(out)+size > maxStream {
			return nil, errTooMuch
		}
		out = append(out, make([]byte, size)...)
		for i, at := len(out)-1, code; at >= 0; i, at = i-1, table[at].prev {
			out[i] = table[at].last
		}
		if prev = code; next+1 >= 1<<width && width < 12 {
			width++
		}
		if len(out)&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return out, nil
}

// predict undoes a predictor (section 7.4.4.4): 2 is that of TIFF for bytes, 10 and more are
// those of PNG, of which each row names its own in its first byte, whatever Predictor says.
// Cross-reference streams of nearly all programs have one. TIFF's for other sizes than bytes
// is for pictures only.
func (f *File) predict(data []byte, param dict) ([]byte, error) {
	value := func(key name, otherwise int) int {
		if n, ok := f.resolve(param[key]).(int); ok {
			return n
		}
		return otherwise
	}
	predictor := value("Predictor", 1)
	if predictor < 2 {
		return data, nil
	}
	colors, bits, columns := value("Colors", 1), value("BitsPerComponent", 8), value("Columns", 1)
	if colors < 1 || colors > 64 || bits < 1 || bits > 32 || columns < 1 || columns > 1<<20 {
		return nil, errSyntax
	}
	pixel, size := max(1, colors*bits/8), (colors*bits*columns+7)/8
	if size > 16<<20 {
		return nil, errSyntax
	}
	if predictor == 2 {
		if bits != 8 {
			return nil, errSyntax
		}
		for i := range data {
			if i%size >= pixel {
				data[i] += data[i-pixel]
			}
		}
		return data, nil
	}
	out := make([]byte, 0, len(data))
	above := make([]byte, size)
	for len(data) > 1 {
		kind, row := data[0], make([]byte, size)
		n := copy(row, data[1:])
		data = data[1+n:]
		unPNG(kind, row, above, pixel)
		out, above = append(out, row[:n]...), row
	}
	return out, nil
}

// unPNG undoes the filter of a row of PNG (RFC 2083, section 6), which adds to each byte the
// one a pixel to the left, the one above, their mean, or the nearest of three. Unknown kinds
// leave the row as it is.
func unPNG(kind byte, row, above []byte, pixel int) {
	for i := range row {
		var left, corner byte
		if i >= pixel {
			left, corner = row[i-pixel], above[i-pixel]
		}
		switch kind {
		case 1:
			row[i] += left
		case 2:
			row[i] += above[i]
		case 3:
			row[i] += byte((int(left) + int(above[i])) / 2)
		case 4:
			row[i] += paeth(left, above[i], corner)
		}
	}
}

// paeth returns the one of its arguments that is nearest to a+b-c.
func paeth(a, b, c byte) byte {
	distance := func(x byte) int {
		d := int(a) + int(b) - int(c) - int(x)
		return max(d, -d)
	}
	da, db, dc := distance(a), distance(b), distance(c)
	if da <= db && da <= dc {
		return a
	}
	if db <= dc {
		return b
	}
	return c
}
