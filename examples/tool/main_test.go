package main

func Example() {
	main()
	// Output:
	// stock says: there is no item "apples"; the items are apple and pear
	// stock says: 12
	// There are 12 apples.
}
