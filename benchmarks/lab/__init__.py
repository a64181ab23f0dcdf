"""The lab: real services, real faults and a real home; how it detects, repairs and learns."""
