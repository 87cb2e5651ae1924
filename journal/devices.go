package journal

import (
	"context"
	"time"
)

// Devices is a store that remembers on which browsers users want messages.
// Implementations are safe for concurrent use.
type Devices interface {
	// AddDevice adds a device of an owner, or replaces the one with its endpoint.
	AddDevice(ctx context.Context, owner string, d Device) error

	// RemoveDevice removes the device with the endpoint, if the owner has it.
	RemoveDevice(ctx context.Context, owner, endpoint string) error

	// Devices returns the devices of an owner, the last one first.
	Devices(ctx context.Context, owner string) ([]Device, error)
}

// A Device is a browser to which messages can be pushed: see RFC 8030 and RFC 8291.
type Device struct {
	Endpoint string // the address that takes messages for it
	Key      string // its public key, p256dh, in base64url
	Auth     string // its authentication secret, in base64url
	Name     string // for people, such as "Chrome on Android"
	Language string // of its messages, such as "en"
	Added    time.Time
}
