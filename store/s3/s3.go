// Package s3 keeps the content of blobs in an object store that speaks S3, for package
// postgres: a [Bucket] is its Objects.
//
// An object is written once, under a name that is used for nothing else, and never
// changed. Its name begins with the SHA-256 of the content, which every read is checked
// against: what an object store or a disk has damaged is an error, never an answer. With
// a key of one's own, what leaves this process is encrypted.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Options configure a [Bucket]. The zero Options are the defaults.
type Options struct {
	// Key encrypts objects: 32 bytes in base64, such as "openssl rand -base64 32" prints.
	// "": they are not encrypted. An object can be read with the key alone that it was
	// written with.
	Key string

	// Cache is a directory in which objects are kept that were written or read, up to
	// CacheSize bytes, as they are in the bucket. "": none. Several processes may share it.
	Cache     string
	CacheSize int64 // 0: 2 GiB

	// Patience is how long a request is tried again while the object store fails, and
	// Try how long one try may take. 0 means a minute, and 20 s.
	Patience, Try time.Duration
}

// A Bucket keeps objects in a bucket. It is safe for concurrent use.
type Bucket struct {
	client    *minio.Client
	transport *http.Transport
	bucket    string
	prefix    string
	where     string // for errors
	seal      *seal  // nil: not encrypted
	cache     *cache // nil: none
	opts      Options
}

// Open returns the bucket at an address of the form
//
//	s3://[ACCESS_KEY:SECRET_KEY@]BUCKET[/PREFIX][?endpoint=URL][&region=NAME]
//
// endpoint is the address of the object store, by default Amazon's. Without keys in the
// address they are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, of
// ~/.aws/credentials, or of the machine. The error for a bucket that cannot be reached
// has no secrets. A nil opts is the zero Options.
func Open(ctx context.Context, address string, opts *Options) (*Bucket, error) {
	if opts == nil {
		opts = new(Options)
	}
	b, err := parse(address)
	if err != nil {
		return nil, fmt.Errorf("the URL of the blobs: %w", err)
	}
	b.opts = *opts
	if b.opts.Patience <= 0 {
		b.opts.Patience = time.Minute
	}
	if b.opts.Try <= 0 {
		b.opts.Try = 20 * time.Second
	}
	if opts.Key != "" {
		if b.seal, err = newSeal(opts.Key); err != nil {
			return nil, fmt.Errorf("the key of the blobs: %w", err)
		}
	}
	if opts.Cache != "" {
		if b.cache, err = openCache(opts.Cache, opts.CacheSize); err != nil {
			return nil, fmt.Errorf("the cache of the blobs: %w", err)
		}
	}
	var there bool
	err = b.tries(ctx, func(ctx context.Context) (err error) {
		there, err = b.client.BucketExists(ctx, b.bucket)
		return err
	})
	if err == nil && !there {
		err = errors.New("there is no such bucket: make it first")
	}
	if err != nil {
		return nil, b.explain("", err)
	}
	return b, nil
}

// parse reads an address. Its errors do not repeat it, because it may have a secret.
func parse(address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, errors.New("it has to be like s3://BUCKET?endpoint=https://objects.example.org&region=eu-1")
	}
	q := u.Query()
	endpoint, region := q.Get("endpoint"), q.Get("region")
	q.Del("endpoint")
	q.Del("region")
	for name := range q {
		return nil, fmt.Errorf("it has the parameter %q, and there are endpoint and region", name)
	}
	endpoint = cmp.Or(endpoint, "https://s3.amazonaws.com")
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" || strings.Trim(e.Path, "/") != "" {
		return nil, fmt.Errorf("the endpoint %q has to be like https://objects.example.org", endpoint)
	}
	region = cmp.Or(region, "us-east-1")
	keys := credentials.NewChainCredentials([]credentials.Provider{
		new(credentials.EnvAWS), new(credentials.FileAWSCredentials), new(credentials.IAM),
	})
	if u.User != nil {
		secret, _ := u.User.Password()
		keys = credentials.NewStaticV4(u.User.Username(), secret, "")
	}
	transport, err := minio.DefaultTransport(e.Scheme == "https")
	if err != nil {
		return nil, err
	}
	client, err := minio.New(e.Host, &minio.Options{
		Creds: keys, Secure: e.Scheme == "https", Region: region, Transport: transport, MaxRetries: 1, // tries are counted here
	})
	if err != nil {
		return nil, err
	}
	b := &Bucket{client: client, transport: transport, bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	if b.where = "s3://" + u.Host; b.prefix != "" {
		b.prefix += "/"
		b.where += "/" + strings.TrimSuffix(b.prefix, "/")
	}
	b.where += " at " + e.Host
	return b, nil
}

// Close closes the connections. No method may be called any more.
func (b *Bucket) Close() { b.transport.CloseIdleConnections() }

// key returns the name of an object in the bucket.
func (b *Bucket) key(name string) string { return b.prefix + name[:2] + "/" + name }

// check reports whether name is one of an object with the content data: it begins with
// the SHA-256 of that in hexadecimal.
func check(name string, data []byte) bool {
	sum := sha256.Sum256(data)
	return strings.HasPrefix(name, hex.EncodeToString(sum[:]))
}

// Put writes an object. When it returns nil, the object can be read. The name begins
// with the SHA-256 of data in hexadecimal, and no object ever had it. Data that is empty
// is refused, because some object stores refuse it.
func (b *Bucket) Put(ctx context.Context, name string, data []byte) error {
	if !check(name, data) {
		return fmt.Errorf("object %s has another hash than its name says", name)
	}
	if len(data) == 0 {
		return errors.New("an object has to have content")
	}
	if b.seal != nil {
		data = b.seal.close(name, data)
	}
	err := b.tries(ctx, func(ctx context.Context) error {
		_, err := b.client.PutObject(ctx, b.bucket, b.key(name), bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{
			ContentType: "application/octet-stream", DisableMultipart: true, SendContentMd5: true,
		})
		return err
	})
	if err != nil {
		return b.explain(name, err)
	}
	b.cache.put(name, data)
	return nil
}

// Get reads an object, from the cache if it is there. It verifies the content, and opens
// it if objects are encrypted. An object that does not exist is an error that is
// [fs.ErrNotExist]. Faults of the network are tried again.
func (b *Bucket) Get(ctx context.Context, name string) (data []byte, err error) {
	if len(name) < 2*sha256.Size {
		return nil, fmt.Errorf("object %q: %w", name, fs.ErrNotExist)
	}
	if data := b.cache.get(name); data != nil {
		if data, err = b.open(name, data); err == nil {
			return data, nil
		}
		b.cache.remove(name)
	}
	var sealed []byte
	err = b.tries(ctx, func(ctx context.Context) error {
		o, err := b.client.GetObject(ctx, b.bucket, b.key(name), minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer o.Close()
		if sealed, err = io.ReadAll(o); err == nil {
			data, err = b.open(name, sealed)
		}
		return err
	})
	if err != nil {
		return nil, b.explain(name, err)
	}
	b.cache.put(name, sealed)
	return data, nil
}

// errDamaged says that an object has other content than was put. A read that was cut
// looks the same, so it is tried once more.
var errDamaged = errors.New("it is damaged: its content has another hash")

// open returns the content of an object as it is in the bucket.
func (b *Bucket) open(name string, data []byte) (_ []byte, err error) {
	if b.seal != nil || isSealed(data) {
		if data, err = b.seal.open(name, data); err != nil {
			return nil, err
		}
	}
	if !check(name, data) {
		return nil, errDamaged
	}
	return data, nil
}

// Remove removes an object, from the cache too. It is no error if the object does not
// exist. Faults of the network are tried again.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	b.cache.remove(name)
	err := b.tries(ctx, func(ctx context.Context) error {
		return b.client.RemoveObject(ctx, b.bucket, b.key(name), minio.RemoveObjectOptions{})
	})
	if err = b.explain(name, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Names yields the names of all objects that are older than some time, in no particular
// order. Objects that this program did not write are left out. An error ends it.
func (b *Bucket) Names(ctx context.Context, older time.Duration) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // ends what lists
		defer cancel()
		for o := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true}) {
			name := o.Key[strings.LastIndexByte(o.Key, '/')+1:]
			if o.Err == nil && (time.Since(o.LastModified) < older || len(name) < 2*sha256.Size) {
				continue
			}
			if !yield(name, b.explain("", o.Err)) || o.Err != nil {
				return
			}
		}
	}
}

// tries calls do until it succeeds, fails for good, ctx ends or the patience does.
func (b *Bucket) tries(ctx context.Context, do func(context.Context) error) error {
	until := time.Now().Add(b.opts.Patience)
	for wait, n := 20*time.Millisecond, 1; ; wait, n = min(2*wait, 2*time.Second), n+1 {
		try, cancel := context.WithTimeout(ctx, b.opts.Try)
		err := do(try)
		cancel()
		if err == nil || ctx.Err() != nil || !passes(err, n) || time.Now().Add(wait).After(until) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// passes reports whether what failed at the nth try may succeed at the next one.
func passes(err error, n int) bool {
	var network net.Error
	var cut *xml.SyntaxError // an answer that was cut
	var answer minio.ErrorResponse
	switch {
	case errors.Is(err, errDamaged):
		return n < 3
	case errors.As(err, &network), errors.As(err, &cut), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return true
	case !errors.As(err, &answer):
		return false
	}
	switch answer.Code {
	case "RequestTimeout", "SlowDown", "IncompleteBody", "BadDigest":
		return true
	}
	return answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests ||
		answer.StatusCode == http.StatusRequestTimeout
}

// explain says which bucket, and which object of it, an error is about.
func (b *Bucket) explain(name string, err error) error {
	if err == nil {
		return nil
	}
	switch minio.ToErrorResponse(err).Code {
	case "NoSuchKey":
		err = fmt.Errorf("it is not there: %w", fs.ErrNotExist)
	case "AccessDenied":
		err = errors.New("access denied: the keys may not do this")
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		err = errors.New("the object store does not accept the keys: look at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the URL")
	}
	if name == "" {
		return fmt.Errorf("the blobs in %s: %w", b.where, err)
	}
	return fmt.Errorf("object %s of %s: %w", name, b.where, err)
}
