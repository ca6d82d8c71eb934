/** Structured logs. Messages are constant; what varies goes into fields (`{ namespace, name, err }`). */
import { pino } from 'pino';

export type Logger = pino.Logger;

/** A logger that writes nothing; for tests and for libraries whose caller gave none. */
export const silentLogger: Logger = pino({ enabled: false });
