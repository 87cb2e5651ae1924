package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
)

// A crypt decrypts with the key of a file that opens with the empty password
// (section 7.6; ISO 32000-2 for version 5).
type crypt struct {
	key              []byte
	strings, streams method          // how those of the file are encrypted
	filters          map[name]method // by the name that a stream's Crypt filter gives
}

// A method is how bytes are encrypted.
type method int

const (
	plain  method = iota // not at all
	rc4Key               // RC4, with a key for each object
	aesKey               // AES-CBC, with a key for each object
	aesOne               // AES-CBC with the key of the file
)

// padding fills up passwords to 32 bytes (algorithm 2, step a). It is all of the empty one.
var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
	"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// openCrypt computes the key for the empty password, with which files open that only forbid
// printing or copying: they show their text to everybody. The error is [ErrPassword] if that
// is not the password. No other is ever tried.
//
// V says how keys are made (table 20): 1 and 2 with RC4, 4 with crypt filters, 5 with AES of
// 256 bits (ISO 32000-2, and the revision 5 that Adobe published before). 3 was never
// published.
func (f *File) openCrypt() error {
	d := f.dict(f.trailer["Encrypt"])
	if filter := f.name(d["Filter"]); d == nil || filter != "Standard" {
		return fmt.Errorf("the PDF is encrypted in a way that is not supported (%s)", filter)
	}
	integer := func(k name, otherwise int) int {
		if n, ok := f.resolve(d[k]).(int); ok {
			return n
		}
		return otherwise
	}
	text := func(k name) []byte {
		s, _ := f.resolve(d[k]).(str)
		return []byte(s)
	}
	v, r, bits := integer("V", 0), integer("R", 2), integer("Length", 40)
	c := &crypt{strings: rc4Key, streams: rc4Key, filters: map[name]method{"Identity": plain}}
	switch v {
	case 1:
		bits = 40
	case 2:
	case 4, 5:
		bits = 128
		for k, o := range f.dict(d["CF"]) {
			switch f.name(f.dict(o)["CFM"]) {
			case "V2":
				c.filters[k] = rc4Key
			case "AESV2":
				c.filters[k] = aesKey
			case "AESV3":
				c.filters[k] = aesOne
			}
		}
		c.strings, c.streams = c.filters[f.name(d["StrF"])], c.filters[f.name(d["StmF"])]
	default:
		return fmt.Errorf("the PDF is encrypted in a way that is not supported (version %d)", v)
	}
	owner, user, permissions := text("O"), text("U"), integer("P", 0)
	if v == 5 {
		c.key = key256(user, text("UE"), r)
	} else {
		var id []byte
		if ids := f.array(f.trailer["ID"]); len(ids) > 0 {
			s, _ := f.resolve(ids[0]).(str)
			id = []byte(s)
		}
		size := min(max(bits/8, 5), 16)
		open, _ := f.resolve(d["EncryptMetadata"]).(bool)
		plainMetadata := r >= 4 && d["EncryptMetadata"] != nil && !open
		c.key = key128(owner, user, uint32(permissions), id, size, r, plainMetadata)
	}
	if c.key == nil {
		return ErrPassword
	}
	f.crypt = c
	return nil
}

// key128 computes the key by algorithm 2 of section 7.6.3.3, from the entries O, U and P and
// the file's identifier, and checks it against U by algorithms 4 and 5; it is nil if the
// password is not the empty one. size is in bytes. Revision 2 has keys of 40 bits; from 3 on
// the sum is repeated fifty times and the check made of 20 rounds.
func key128(owner, user []byte, permissions uint32, id []byte, size, r int, openMetadata bool) []byte {
	h := md5.New()
	h.Write(padding)
	h.Write(owner[:min(len(owner), 32)])
	h.Write(binary.LittleEndian.AppendUint32(nil, permissions))
	h.Write(id)
	if openMetadata {
		h.Write([]byte{255, 255, 255, 255})
	}
	key := h.Sum(nil)
	if r < 3 {
		key = key[:5]
		check := make([]byte, 32)
		streamCipher(key, check, padding)
		if !bytes.Equal(check, user[:min(len(user), 32)]) {
			return nil
		}
		return key
	}
	for range 50 {
		sum := md5.Sum(key[:size])
		key = sum[:]
	}
	key = key[:size]
	sum := md5.Sum(append(bytes.Clone(padding), id...))
	check := sum[:]
	for i := range 20 {
		k := bytes.Clone(key)
		for j := range k {
			k[j] ^= byte(i)
		}
		streamCipher(k, check, check)
	}
	if !bytes.Equal(check, user[:min(len(user), 16)]) {
		return nil
	}
	return key
}

// streamCipher is RC4.
func streamCipher(key, dst, src []byte) {
	c, err := rc4.NewCipher(key)
	if err == nil {
		c.XORKeyStream(dst, src)
	}
}

// key256 computes the key of version 5 by algorithm 2.A of ISO 32000-2; it is nil if the
// password is not the empty one. user is U: 32 bytes of a hash, 8 of salt for the check, 8 of
// salt for the key. encrypted is UE, the file's key under that hash.
func key256(user, encrypted []byte, r int) []byte {
	if len(user) < 48 || len(encrypted) < 32 {
		return nil
	}
	hash := func(salt []byte) []byte {
		if r >= 6 {
			return hash6(salt)
		}
		sum := sha256.Sum256(salt)
		return sum[:]
	}
	if !bytes.Equal(hash(user[32:40]), user[:32]) {
		return nil
	}
	block, err := aes.NewCipher(hash(user[40:48]))
	if err != nil {
		return nil
	}
	key := make([]byte, 32)
	cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(key, encrypted[:32])
	return key
}

// hash6 is algorithm 2.B of ISO 32000-2 for the empty password: at least 64 rounds of AES-128
// over 64 copies of the hash, whose first 16 bytes, taken as a number modulo 3, choose the
// next hash. The sum of bytes has the same remainder, since 256 modulo 3 is 1. It ends when
// the last byte is not larger than the number of the round less 32.
func hash6(salt []byte) []byte {
	sum := sha256.Sum256(salt)
	k := sum[:]
	for i := 0; ; i++ {
		data := bytes.Repeat(k, 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(data, data)
		rest := 0
		for _, b := range data[:16] {
			rest += int(b)
		}
		switch rest % 3 {
		case 0:
			s := sha256.Sum256(data)
			k = s[:]
		case 1:
			s := sha512.Sum384(data)
			k = s[:]
		default:
			s := sha512.Sum512(data)
			k = s[:]
		}
		if i >= 63 && int(data[len(data)-1]) <= i-31 {
			return k[:32]
		}
	}
}

// streamMethod returns how a stream is encrypted: it may name a filter of its own (section
// 7.6.5), such as Identity for metadata that programs read without a password.
func (c *crypt) streamMethod(f *File, d dict) method {
	for i, o := range f.list(d, "Filter") {
		if o != name("Crypt") {
			continue
		}
		var param dict
		if params := f.list(d, "DecodeParms"); i < len(params) {
			param = f.dict(params[i])
		}
		if n := f.name(param["Name"]); n != "" {
			return c.filters[n]
		}
		return plain
	}
	return c.streams
}

// decrypt returns the plain bytes of a string or a stream of an object (algorithm 1, section
// 7.6.2): the object's numbers are part of the key, but for AES of 256 bits. AES has its
// initial vector in front, and up to 16 bytes of padding at the end; padding that is broken
// is left as it is. It does not change data.
func (c *crypt) decrypt(m method, num, gen int, data []byte) []byte {
	if m == plain || len(data) == 0 {
		return data
	}
	key := c.key
	if m != aesOne {
		b := append(bytes.Clone(key), byte(num), byte(num>>8), byte(num>>16), byte(gen), byte(gen>>8))
		if m == aesKey {
			b = append(b, "sAlT"...)
		}
		sum := md5.Sum(b)
		key = sum[:min(len(key)+5, 16)]
	}
	if m == rc4Key {
		out := make([]byte, len(data))
		streamCipher(key, out, data)
		return out
	}
	if len(data) < 32 {
		return nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil
	}
	out := make([]byte, (len(data)-16)/16*16)
	cipher.NewCBCDecrypter(block, data[:16]).CryptBlocks(out, data[16:16+len(out)])
	if n := int(out[len(out)-1]); n >= 1 && n <= 16 {
		out = out[:len(out)-n]
	}
	return out
}
