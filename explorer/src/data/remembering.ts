/** Promises by key, the least recently asked for let go first; a failure is not remembered. */
export class Remembered<Value> {
  private readonly kept = new Map<string, Promise<Value>>();

  constructor(private readonly most: number) {}

  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const known = this.kept.get(key);
    if (known) {
      this.kept.delete(key);
      this.kept.set(key, known);
      return known;
    }
    const made = make();
    this.kept.set(key, made);
    made.catch(() => this.kept.delete(key));
    if (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value as string);
    return made;
  }
}
