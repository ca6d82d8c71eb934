/** In place of `node:crypto`, of which the answers about ingresses need only certificates. */
import { Certificate } from '#dashboard/model/certificate.js';

export { Certificate as X509Certificate };
