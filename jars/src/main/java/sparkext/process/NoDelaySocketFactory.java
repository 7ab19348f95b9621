// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.net.SocketFactory;

/**
 * Creates sockets without Nagle's algorithm. py4j sends a call in small writes, and each of them
 * would wait 40 ms for a delayed acknowledgement.
 *
 * <p>The factory can close the sockets. py4j waits for an answer under a lock that its own shutdown
 * needs.
 */
final class NoDelaySocketFactory extends SocketFactory {
  private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();

  @Override
  public Socket createSocket() throws IOException {
    Socket socket = new Socket();
    socket.setTcpNoDelay(true);
    sockets.add(socket);
    return socket;
  }

  /** Closes every socket, which ends all calls that wait. */
  void closeSockets() {
    for (Socket socket : sockets) {
      try {
        socket.close();
      } catch (IOException closedAlready) {
        continue;
      }
    }
  }

  @Override
  public Socket createSocket(InetAddress address, int port) throws IOException {
    Socket socket = createSocket();
    socket.connect(new InetSocketAddress(address, port));
    return socket;
  }

  @Override
  public Socket createSocket(String host, int port) throws IOException {
    return createSocket(InetAddress.getByName(host), port);
  }

  @Override
  public Socket createSocket(String host, int port, InetAddress local, int localPort)
      throws IOException {
    return createSocket(InetAddress.getByName(host), port, local, localPort);
  }

  @Override
  public Socket createSocket(InetAddress address, int port, InetAddress local, int localPort)
      throws IOException {
    Socket socket = createSocket();
    socket.bind(new InetSocketAddress(local, localPort));
    socket.connect(new InetSocketAddress(address, port));
    return socket;
  }
}
