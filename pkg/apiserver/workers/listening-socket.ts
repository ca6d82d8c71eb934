/**
 * One listening socket of which every worker has a descriptor of its own. The system gives a new connection to whoever
 * accepts first, so none waits for a worker that is held, and a worker that dies closes nothing but its own descriptor.
 * (With SO_REUSEPORT each worker would have a queue of its own, and a held one would keep what is in it.)
 *
 * Node.js cannot duplicate a descriptor, but a child process can send one back: it gets the socket as its descriptor 3,
 * sends it as a handle, and ends, all in one turn of its event loop, before which it accepts nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** A socket that this thread has a descriptor of and nobody in it accepts from. What `Server.listen` takes. */
export interface SocketHandle {
  readonly fd: number;
  close(): void;
}

const child = `const s=require('net').createServer();s.listen({fd:3});process.send('socket',s._handle,()=>process.exit())`;
/** A child takes some tens of milliseconds; this is for machines that hardly run. */
const childPatienceMs = 30_000;

/** Binds and listens; connections wait until somebody accepts them. */
export async function openSocket(
  host: string,
  port: number,
): Promise<{ readonly handle: SocketHandle; readonly address: AddressInfo }> {
  const server = createServer();
  const copied = await new Promise<{ readonly handle: Promise<SocketHandle>; readonly address: AddressInfo }>(
    (resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        const address = server.address();
        if (address === null || typeof address === 'string') return reject(new Error('no TCP address'));
        // In the turn in which it began to listen: this server itself never accepts.
        try {
          resolve({ handle: copyOf(descriptorOf(server)), address });
        } catch (error) {
          reject(error);
        }
        server.close();
      });
    },
  );
  return { handle: await copied.handle, address: copied.address };
}

/** A descriptor of this thread's own. @param fd Of any thread of the process. */
export function copyOf(fd: number): Promise<SocketHandle> {
  const copier = spawn(process.execPath, ['--input-type=commonjs', '-e', child], {
    stdio: ['ignore', 'ignore', 'pipe', fd, 'ipc'],
    timeout: childPatienceMs,
  });
  return received(copier);
}

function received(child: ChildProcess): Promise<SocketHandle> {
  return new Promise((resolve, reject) => {
    let handle: SocketHandle | undefined;
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    child.on('message', (_message, socket) => {
      handle = isHandle(socket) ? socket : undefined;
    });
    child.on('error', reject);
    child.on('close', () => {
      if (handle !== undefined) resolve(handle);
      else reject(new Error(`the listening socket could not be copied: ${complaint.slice(0, 1000)}`));
    });
  });
}

/**
 * Node.js documents neither the handle of a server nor its descriptor; both have been there since its first releases.
 * Throws an error that says what to do where they are not.
 */
function descriptorOf(server: Server): number {
  const { _handle: handle } = server as unknown as { readonly _handle?: unknown };
  if (isHandle(handle)) return handle.fd;
  throw new Error(`threads cannot share a listening socket with Node.js ${process.version}: use --workers 1`);
}

function isHandle(value: unknown): value is SocketHandle {
  if (typeof value !== 'object' || value === null) return false;
  const { fd, close } = value as { readonly fd?: unknown; readonly close?: unknown };
  return typeof fd === 'number' && fd >= 0 && typeof close === 'function';
}
