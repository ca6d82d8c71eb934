/** What the agent needs of logind, systemd's manager of shutdowns. */

/** Delays a shutdown until it is released, for at most logind's `InhibitDelayMaxSec`. */
export interface InhibitLock {
  /** Idempotent; never rejects. */
  release(): Promise<void>;
}

/** A running observation of shutdowns. */
export interface ShutdownWatch {
  /** Resolves when no more shutdowns are seen, for example because the bus was restarted. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface Logind {
  /** How long logind delays a shutdown at most, in ms. */
  inhibitDelayMs(): Promise<number>;
  /** Writes a setting that raises this delay; it acts after a reload. */
  overrideInhibitDelay(ms: number): Promise<void>;
  reload(): Promise<void>;
  inhibit(): Promise<InhibitLock>;
  /** `onShutdown`: true when a shutdown begins, false when it was cancelled. Resolves once signals are seen. */
  watch(onShutdown: (isActive: boolean) => void): Promise<ShutdownWatch>;
}
