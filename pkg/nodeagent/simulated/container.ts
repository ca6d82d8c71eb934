/** One simulated container: created → running → exited, controlled by its program and its pod's annotations. */
import { type Clock, formatTime, type Timer } from '#apimachinery/clock.js';
import type {
  Container,
  ContainerConfig,
  ContainerState,
  ContainerStatus,
  SessionStreams,
} from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { Attachments } from '#nodeagent/simulated/attachments.js';
import type { Behaviour } from '#nodeagent/simulated/behaviour.js';
import type { SimulatedLogFiles } from '#nodeagent/simulated/log-files.js';
import { type Program, programOf } from '#nodeagent/simulated/programs.js';

/** Exit codes after SIGKILL and SIGTERM. */
const killedCode = 137;
const terminatedCode = 143;

export interface ContainerContext {
  readonly clock: Clock;
  readonly behaviour: Behaviour;
  readonly logs: SimulatedLogFiles;
  readonly hostname: string;
  /** Directory of the sandbox's logs; empty for none. */
  readonly logDirectory: string;
  readonly imageRef: string;
  onChange(): void;
}

export class SimulatedContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly #context: ContainerContext;
  readonly #createdAt: number;
  readonly #exitWaiters: (() => void)[] = [];
  #state: ContainerState = 'CONTAINER_CREATED';
  #isStarting = false;
  #startedAt = 0;
  /** Start time (monotonic ms). */
  #runsSince = 0;
  #finishedAt = 0;
  #exitCode = 0;
  #reason = '';
  #timers: Timer[] = [];
  /** Attach sessions; created at the container's start. */
  #attachments: Attachments | undefined;

  constructor(id: string, sandboxId: string, config: ContainerConfig, context: ContainerContext) {
    this.id = id;
    this.sandboxId = sandboxId;
    this.config = config;
    this.#context = context;
    this.#createdAt = context.clock.now();
  }

  get state(): ContainerState {
    return this.#state;
  }

  /** While the container is starting, it can neither be started nor removed. */
  get isStarting(): boolean {
    return this.#isStarting;
  }

  get env(): Record<string, string> {
    return Object.fromEntries(this.config.envs.map(({ key, value }) => [key, value]));
  }

  get logPath(): string {
    const { logDirectory } = this.#context;
    return logDirectory === '' || this.config.logPath === '' ? '' : `${logDirectory}/${this.config.logPath}`;
  }

  /** The program of a command in this container. */
  program(argv: readonly string[]): Program {
    return programOf(argv, { env: this.env, hostname: this.#context.hostname });
  }

  async start(): Promise<void> {
    const { behaviour, clock } = this.#context;
    const name = this.config.metadata.name;
    this.#requireCreated();
    if (this.#isStarting) throw new CRIError('Unknown', `container ${this.id} is already in starting state`);
    const latency = behaviour.duration('start-latency', name) ?? 0;
    if (latency > 0) {
      this.#isStarting = true;
      await clock.sleep(latency);
      this.#isStarting = false;
      // The container may have ended meanwhile.
      this.#requireCreated();
    }
    const failure = behaviour.text('start-failure', name);
    if (failure !== undefined) {
      this.#startedAt = clock.now();
      this.#finish(128, 'StartError');
      throw new CRIError('Unknown', failure);
    }
    this.#state = 'CONTAINER_RUNNING';
    this.#startedAt = clock.now();
    this.#runsSince = clock.monotonic();
    const program = this.program([...this.config.command, ...this.config.args]);
    this.#write(program);
    this.#repeat(behaviour.duration('log-every', name));
    const { stdin, stdinOnce } = this.config;
    // Without standard input, a program reads its end at once.
    const readsInput = program.copiesInput && stdin;
    const exitAfter = behaviour.duration('exit-after', name) ?? (readsInput ? undefined : program.exitAfterMs);
    const exit = () =>
      this.#finish(Number(behaviour.text('exit-code', name) ?? program.exitCode), behaviour.text('exit-reason', name));
    if (exitAfter !== undefined) this.#timers.push(clock.setTimer(exit, exitAfter));
    this.#attachments = new Attachments({
      copiesInput: readsInput,
      stdinOnce,
      log: (line) => this.#append('stdout', line),
      onInputEnd: () => this.#timers.push(clock.setTimer(exit, program.exitAfterMs ?? 0)),
    });
    this.#context.onChange();
  }

  /** Throws CRIError if it was started before. */
  #requireCreated(): void {
    if (this.#state === 'CONTAINER_CREATED') return;
    throw new CRIError('Unknown', `container ${this.id} is in state ${this.#state}`);
  }

  /** Resolves once it has exited. */
  stop(timeoutSeconds: number): Promise<void> {
    if (this.#state === 'CONTAINER_CREATED') this.#finish(terminatedCode, 'Error');
    if (this.#state !== 'CONTAINER_RUNNING') return Promise.resolve();
    const { behaviour, clock } = this.#context;
    const name = this.config.metadata.name;
    const graceMs = timeoutSeconds * 1000;
    const latency =
      behaviour.text('stop-latency', name) === 'never' ? Infinity : (behaviour.duration('stop-latency', name) ?? 0);
    const obeys = latency < graceMs || (latency === 0 && graceMs > 0);
    const delay = obeys ? latency : graceMs;
    const code = obeys ? terminatedCode : killedCode;
    const exited = new Promise<void>((resolve) => this.#exitWaiters.push(resolve));
    if (delay === 0) this.#finish(code);
    else this.#timers.push(clock.setTimer(() => this.#finish(code), delay));
    return exited;
  }

  kill(): void {
    if (this.#state === 'CONTAINER_RUNNING' || this.#state === 'CONTAINER_CREATED') this.#finish(killedCode);
  }

  #finish(code: number, reason?: string): void {
    if (this.#state === 'CONTAINER_EXITED') return;
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
    this.#state = 'CONTAINER_EXITED';
    this.#exitCode = code;
    this.#reason = reason ?? (code === 0 ? 'Completed' : 'Error');
    this.#finishedAt = this.#context.clock.now();
    this.#attachments?.end();
    for (const resolve of this.#exitWaiters.splice(0)) resolve();
    this.#context.onChange();
  }

  #write(program: Program): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      for (const line of program[stream].split('\n').slice(0, -1)) this.log(stream, line);
    }
  }

  /** Writes a line of output. */
  log(stream: 'stdout' | 'stderr', text: string): void {
    this.#append(stream, text);
    this.#attachments?.write(stream, `${text}\n`);
  }

  /** Attaches to its streams until it exits or the session ends. */
  async attach(streams: SessionStreams): Promise<void> {
    await this.#attachments?.join(streams);
  }

  #append(stream: 'stdout' | 'stderr', text: string): void {
    if (this.logPath === '') return;
    const time = `${formatTime(this.#context.clock.now()).slice(0, -1)}.000000000Z`;
    this.#context.logs.append(this.logPath, { time, stream, text });
  }

  #repeat(everyMs: number | undefined): void {
    if (everyMs === undefined || everyMs <= 0) return;
    let count = 0;
    const next = () => {
      this.log('stdout', `line ${count++}`);
      this.#timers.push(this.#context.clock.setTimer(next, everyMs));
      if (this.#timers.length > 8) this.#timers.splice(1, this.#timers.length - 4);
    };
    next();
  }

  /** Milliseconds since its start; negative if it is not running. */
  get runningForMs(): number {
    return this.#state === 'CONTAINER_RUNNING' ? this.#context.clock.monotonic() - this.#runsSince : -1;
  }

  summary(): Container {
    return {
      id: this.id,
      podSandboxId: this.sandboxId,
      metadata: this.config.metadata,
      image: this.config.image,
      imageRef: this.#context.imageRef,
      state: this.#state,
      createdAt: this.#createdAt,
      labels: this.config.labels,
      annotations: this.config.annotations,
    };
  }

  status(): ContainerStatus {
    const { podSandboxId: _, ...summary } = this.summary();
    return {
      ...summary,
      startedAt: this.#startedAt,
      finishedAt: this.#finishedAt,
      exitCode: this.#exitCode,
      reason: this.#reason,
      message: '',
      mounts: this.config.mounts,
      logPath: this.logPath,
    };
  }
}
