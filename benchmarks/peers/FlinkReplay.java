import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.flink.CatalogLoader;
import org.apache.iceberg.flink.FlinkSchemaUtil;
import org.apache.iceberg.flink.TableLoader;
import org.apache.iceberg.flink.source.IcebergSource;

/** Flink's source for Iceberg into nowhere, its splits in the order of a column, two cores. */
public final class FlinkReplay {
    private static final int CORES = 2;
    /** As large as a split: each file is a split of its own, as its order asks for. */
    private static final long FILE_BY_FILE = 128L << 20;

    public static void main(String[] arguments) throws Exception {
        Properties asked = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(arguments[0]))) {
            asked.load(reader);
        }
        Configuration configuration = new Configuration();
        configuration.setString("pipeline.object-reuse", "true");
        var environment = StreamExecutionEnvironment.createLocalEnvironment(CORES, configuration);
        for (String name : asked.getProperty("tables").split(",")) {
            read(environment, asked, name);
        }
        long begun = System.nanoTime();
        JobExecutionResult result = environment.execute("replay");
        double workS = (System.nanoTime() - begun) / 1e9;
        Long rows = result.getAccumulatorResult("rows");
        System.out.printf("{\"rows\": %d, \"work_s\": %.3f}%n", rows, workS);
        System.exit(0);
    }

    private static void read(StreamExecutionEnvironment environment, Properties asked, String name)
            throws Exception {
        CatalogLoader catalog = CatalogLoader.custom(
                asked.getProperty("catalog"),
                Map.of(
                        "uri", asked.getProperty("uri"),
                        "warehouse", asked.getProperty("warehouse"),
                        "jdbc.schema-version", "V1",
                        "io-impl", "org.apache.iceberg.hadoop.HadoopFileIO"),
                new org.apache.hadoop.conf.Configuration(),
                "org.apache.iceberg.jdbc.JdbcCatalog");
        TableLoader table = TableLoader.fromCatalog(catalog, TableIdentifier.parse(name));
        table.open();
        Schema schema = table.loadTable().schema();
        if (!asked.getProperty("columns").isEmpty()) {
            schema = schema.select(Arrays.asList(asked.getProperty("columns").split(",")));
        }
        var source = IcebergSource.forRowData()
                .tableLoader(table)
                .project(schema)
                .splitOpenFileCost(FILE_BY_FILE)
                .watermarkColumn(asked.getProperty("ordered_by"))
                .build();
        WatermarkStrategy<RowData> strategy = WatermarkStrategy.noWatermarks();
        if (!asked.getProperty("drift_s").isEmpty()) {
            Duration drift = Duration.ofSeconds(Long.parseLong(asked.getProperty("drift_s")));
            strategy = strategy.withWatermarkAlignment("replay", drift, Duration.ofMillis(200));
        }
        // The generic type would go through Kryo, which takes three times as long.
        var type = InternalTypeInfo.of(FlinkSchemaUtil.convert(schema));
        environment.fromSource(source, strategy, name, type)
                .filter(new Counted())
                .sinkTo(new DiscardingSink<>());
    }

    /** Lets everything through, and counts it. */
    private static final class Counted extends RichFilterFunction<RowData> {
        private final LongCounter rows = new LongCounter();

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("rows", rows);
        }

        @Override
        public boolean filter(RowData row) {
            rows.add(1);
            return true;
        }
    }
}
