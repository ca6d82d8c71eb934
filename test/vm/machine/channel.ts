/** Runs commands in a machine over its virtio-serial port; `hack/vm-agent.sh` is the other end. */
import { connect, type Socket } from 'node:net';
import { type Clock, realClock } from '#apimachinery/clock.js';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Pending {
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (error: Error) => void;
}

const text = (base64: string) => Buffer.from(base64, 'base64').toString();

export class Channel {
  readonly #clock: Clock;
  readonly #socket: Socket;
  readonly #pending = new Map<string, Pending>();
  readonly #greetings: string[] = [];
  #greeted: (() => void) | undefined;
  #rest = '';
  #last = 0;

  private constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    socket.setEncoding('utf8');
    socket.on('data', (part: string) => this.#receive(part));
    socket.on('error', () => undefined);
    socket.on('close', () => this.#failAll('the machine is off'));
  }

  static open(path: string, clock: Clock = realClock): Promise<Channel> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once('connect', () => resolve(new Channel(socket, clock)));
      socket.once('error', reject);
    });
  }

  /** Resolves with the boot ID when a boot of the machine other than `last` has greeted. */
  async greeting(timeoutMs: number, last?: string): Promise<string> {
    const deadline = this.#clock.monotonic() + timeoutMs;
    for (;;) {
      const id = this.#greetings.at(-1);
      if (id !== undefined && id !== last) return id;
      const left = deadline - this.#clock.monotonic();
      if (left <= 0) throw new Error(`the machine did not start within ${timeoutMs / 1000} s`);
      await new Promise<void>((resolve) => {
        const timer = this.#clock.setTimer(resolve, left);
        this.#greeted = () => {
          timer.cancel();
          resolve();
        };
      });
    }
  }

  /** Rejects after the time limit and when the machine restarts. */
  run(command: string, timeoutMs: number): Promise<CommandResult> {
    const id = String(++this.#last);
    return new Promise((resolve, reject) => {
      const timer = this.#clock.setTimer(() => {
        this.#pending.delete(id);
        reject(new Error(`no end within ${timeoutMs / 1000} s: ${command}`));
      }, timeoutMs);
      this.#pending.set(id, {
        resolve: (result) => {
          timer.cancel();
          resolve(result);
        },
        reject: (error) => {
          timer.cancel();
          reject(error);
        },
      });
      this.#socket.write(`${id} ${Buffer.from(command).toString('base64')}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(part: string): void {
    const lines = (this.#rest + part).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    const [id = '', code = '', out = '', err = ''] = line.split(' ');
    if (id === 'hello') {
      this.#failAll('the machine restarted');
      this.#greetings.push(code);
      this.#greeted?.();
      return;
    }
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.resolve({ code: Number(code), stdout: text(out), stderr: text(err) });
  }

  #failAll(why: string): void {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of all) reject(new Error(why));
  }
}
