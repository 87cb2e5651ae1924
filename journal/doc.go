// Package journal has what journals are made of: the codec between bodies and
// what is stored, secrets and their redaction, export, import and fork, and
// [Memory], a journal without a disk.
package journal
