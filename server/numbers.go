package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// jsonFormat reads and writes JSON. A whole number may be written as 3.0 or 3e2, as some
// languages do: to JSON Schema that is an integer, while Go's decoder refuses it.
func jsonFormat() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error { return huma.DefaultJSONFormat.Marshal(w, v) },
		Unmarshal: func(data []byte, v any) error {
			err := json.Unmarshal(data, v)
			if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
				return json.Unmarshal(wholeNumbers(data), v)
			}
			return err
		},
	}
}

// wholeNumbers returns valid JSON with whole numbers written as integers, as far as a
// float64 has them exactly.
func wholeNumbers(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		end := i + 1
		switch c := data[i]; {
		case c == '"':
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(data))
			out = append(out, data[i:end]...)
		case c == '-' || c >= '0' && c <= '9':
			for end < len(data) && bytes.IndexByte([]byte("+-.eE0123456789"), data[end]) >= 0 {
				end++
			}
			out = appendWhole(out, data[i:end])
		default:
			out = append(out, c)
		}
		i = end
	}
	return out
}

// appendWhole appends a number, as an integer if it is one.
func appendWhole(out, number []byte) []byte {
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil || !bytes.ContainsAny(number, ".eE") || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return append(out, number...)
	}
	return strconv.AppendFloat(out, f, 'f', 0, 64)
}
