/** A busy process may send on a connection in the very moment in which the server gives it up as idle: then a request is lost that nobody refused. */
export function keepsOpen<S extends { keepAliveTimeout: number }>(server: S): S {
  server.keepAliveTimeout = 0;
  return server;
}
