// Package openmanus runs agents: a person gives a task in words, and a
// language model solves it with tools.
package openmanus
