import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * HDFS, and with node managers YARN, in one JVM: ADDRESS FOLDER NODE_MANAGERS MB_EACH.
 *
 * What a client has to know is in FOLDER/conf when it prints READY. It ends when its stdin does.
 */
public class HadoopCluster {
  public static void main(String[] given) {
    try {
      run(given);
    } catch (Throwable problem) {
      // Its servers would keep it alive.
      problem.printStackTrace();
    }
    Runtime.getRuntime().halt(1);
  }

  static void run(String[] given) throws Exception {
    String address = given[0];
    File folder = new File(given[1]).getAbsoluteFile();
    int nodes = Integer.parseInt(given[2]);
    // Several daemons in one JVM: their metrics have the same names.
    DefaultMetricsSystem.setMiniClusterMode(true);
    Configuration hdfs = hdfs(address, folder);
    write(hdfs, new File(folder, "conf/core-site.xml"), "fs.defaultFS", "dfs.replication");
    write(hdfs, new File(folder, "conf/hdfs-site.xml"), "dfs.replication");
    String uri = hdfs.get("fs.defaultFS");
    NameNode.format(hdfs);
    NameNode names = new NameNode(hdfs);
    DataNode data = DataNode.createDataNode(new String[] {}, hdfs);
    while (names.getNamesystem().getNumLiveDataNodes() < 1 || names.isInSafeMode()) Thread.sleep(50);
    // The name node writes a name of its own there.
    hdfs.set("fs.defaultFS", uri);
    if (nodes > 0) {
      Configuration yarn = yarn(hdfs, folder, nodes, Integer.parseInt(given[3]));
      write(yarn, new File(folder, "conf/yarn-site.xml"),
          "yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address",
          "yarn.resourcemanager.hostname", "yarn.resourcemanager.webapp.address",
          "yarn.resourcemanager.admin.address", "yarn.resourcemanager.resource-tracker.address",
          "yarn.scheduler.minimum-allocation-mb", "yarn.application.classpath");
    }
    System.out.println("READY");
    while (System.in.read() >= 0) { }
    Runtime.getRuntime().halt(0);
  }

  static Configuration hdfs(String address, File folder) throws Exception {
    Configuration conf = new Configuration();
    new File(folder, "conf").mkdirs();
    conf.set("fs.defaultFS", "hdfs://" + address + ":" + free(address));
    conf.set("dfs.namenode.name.dir", new File(folder, "names").toURI().toString());
    conf.set("dfs.datanode.data.dir", new File(folder, "data").toURI().toString());
    for (String server : new String[] {"dfs.namenode.http-address", "dfs.datanode.address",
        "dfs.datanode.http.address", "dfs.datanode.ipc.address"}) conf.set(server, address + ":0");
    conf.set("dfs.replication", "1");
    conf.setBoolean("dfs.permissions.enabled", false);
    conf.setBoolean("dfs.namenode.datanode.registration.ip-hostname-check", false);
    return conf;
  }

  static Configuration yarn(Configuration hdfs, File folder, int nodes, int mb) throws Exception {
    YarnConfiguration conf = new YarnConfiguration(hdfs);
    System.setProperty("test.build.data", new File(folder, "yarn").getPath());
    conf.setInt("yarn.nodemanager.resource.memory-mb", mb);
    conf.setInt("yarn.minicluster.yarn.nodemanager.resource.memory-mb", mb);
    conf.setInt("yarn.nodemanager.resource.cpu-vcores", 4);
    conf.setInt("yarn.scheduler.minimum-allocation-mb", 256);
    conf.setInt("yarn.scheduler.increment-allocation-mb", 128);
    conf.setInt("yarn.scheduler.maximum-allocation-mb", mb);
    conf.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
    conf.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
    conf.setFloat("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", 100);
    conf.setInt("yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb", 0);
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.8");
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.root.default.maximum-am-resource-percent", "0.8");
    conf.setInt("yarn.nm.liveness-monitor.expiry-interval-ms", 20000);
    conf.set("yarn.application.classpath", "");
    MiniYARNCluster cluster = new MiniYARNCluster("tests", 1, nodes, 1, 1, false);
    cluster.init(conf);
    cluster.start();
    if (!cluster.waitForNodeManagersToConnect(60000)) throw new IllegalStateException("no nodes");
    return cluster.getConfig();
  }

  static int free(String address) throws Exception {
    try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getByName(address))) {
      return probe.getLocalPort();
    }
  }

  static void write(Configuration from, File to, String... names) throws Exception {
    Configuration conf = new Configuration(false);
    for (String name : names) if (from.get(name) != null) conf.set(name, from.get(name));
    try (OutputStream out = new FileOutputStream(to)) { conf.writeXml(out); }
  }
}
