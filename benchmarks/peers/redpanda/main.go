// Redpanda Connect with the parts that a router needs: mappings, and Kafka at both ends.
package main

import (
	"context"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"
	_ "github.com/redpanda-data/connect/v4/public/components/kafka"
)

func main() {
	service.RunCLI(context.Background())
}
