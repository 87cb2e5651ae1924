// Package insight says what is to be seen in data, by calculation: trends,
// seasons, outliers, correlations, shares, turning points, volatility, with
// the numbers behind each and, where a test applies, its p-value.
//
// The statistics are here too, on plain slices. Missing values (NaN) are for
// the caller to leave out.
package insight
