package store

import (
	"context"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// AddDevice implements [journal.Devices].
func (db *DB) AddDevice(ctx context.Context, owner string, d journal.Device) error {
	_, err := db.changes(ctx, "add_device", owner, d.Endpoint, d.Key, d.Auth, d.Name, d.Language, d.Added.UnixMicro())
	return err
}

// RemoveDevice implements [journal.Devices].
func (db *DB) RemoveDevice(ctx context.Context, owner, endpoint string) error {
	_, err := db.changes(ctx, "remove_device", owner, endpoint)
	return err
}

// Devices implements [journal.Devices].
func (db *DB) Devices(ctx context.Context, owner string) ([]journal.Device, error) {
	return all(ctx, db, summary.Device, "devices", owner)
}
