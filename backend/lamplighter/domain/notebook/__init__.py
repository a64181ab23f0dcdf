"""The notebook: which memories belong to which page, and what an edit of a page means."""
