/** A token bucket for each client, and how long a refused one has to wait. */
export class Limiter {
  #buckets = new Map();

  constructor({ capacity, perSecond, now = Date.now }) {
    if (!(capacity > 0) || !(perSecond > 0)) throw new RangeError('capacity and rate must be positive');
    this.capacity = capacity;
    this.perSecond = perSecond;
    this.now = now;
  }

  take(client, cost = 1) {
    const bucket = this.#refilled(client);
    if (cost > this.capacity) return { allowed: false, retryAfter: null };
    if (bucket.tokens < cost) {
      const missing = cost - bucket.tokens;
      return { allowed: false, retryAfter: Math.ceil(missing / this.perSecond) };
    }
    bucket.tokens -= cost;
    return { allowed: true, retryAfter: 0 };
  }

  /** Forgets clients whose buckets are full again. */
  sweep() {
    let removed = 0;
    for (const client of this.#buckets.keys()) {
      if (this.#refilled(client).tokens >= this.capacity && this.#buckets.delete(client)) removed++;
    }
    return removed;
  }

  #refilled(client) {
    const now = this.now();
    const bucket = this.#buckets.get(client) ?? { tokens: this.capacity, at: now };
    const seconds = Math.max(0, now - bucket.at) / 1000;
    bucket.tokens = Math.min(this.capacity, bucket.tokens + seconds * this.perSecond);
    bucket.at = now;
    this.#buckets.set(client, bucket);
    return bucket;
  }
}
